// The view of the editor for blocks: ProseMirror with the keys, the history and the look of nodes that are more than
// text.
import { history } from "prosemirror-history";
import { keymap } from "prosemirror-keymap";
import type { Node } from "prosemirror-model";
import { EditorState, type Transaction } from "prosemirror-state";
import { EditorView, type NodeViewConstructor } from "prosemirror-view";
import { t } from "../text/text.ts";
import { keys, typingRules } from "./commands.ts";
import { type Json, type JsonObject, toBlocks, toDocument } from "./mapper.ts";
import { schema } from "./schema.ts";

// openState returns the state of an editor for a value. An editor needs a place to write, so a value without blocks is
// shown as an empty paragraph.
function openState(value: Json | undefined, askLink: () => void): EditorState {
  const doc = toDocument(value);
  return EditorState.create({
    doc: doc.childCount > 0 ? doc : doc.copy(doc.content.addToEnd(schema.nodes.paragraph!.create())),
    plugins: [history(), typingRules, keymap(keys(askLink))],
  });
}

// isBlank reports whether a document has nothing but the empty paragraph of openState.
function isBlank(doc: Node): boolean {
  if (doc.childCount !== 1) return false;
  const only = doc.firstChild!;
  return only.type === schema.nodes.paragraph && only.content.size === 0 && only.attrs.source === null;
}

export interface Options {
  place: HTMLElement;
  value: Json | undefined;
  attributes: Record<string, string>;
  editable: () => boolean;
  askLink: () => void;
  // changed is called with the new value after each change of the document.
  changed: (value: Json[] | null) => void;
  // updated is called after each change of the document or the selection.
  updated: (state: EditorState) => void;
  fileURL: (url: string) => string;
}

// An Editor is an open view.
export interface Editor {
  view: EditorView;
  // show replaces the document, which loses the history of changes.
  show(value: Json | undefined): void;
}

export function openEditor(options: Options): Editor {
  let opened = options.value;
  const view: EditorView = new EditorView(options.place, {
    state: openState(opened, options.askLink),
    attributes: options.attributes,
    editable: options.editable,
    nodeViews: { image: imageView(options.fileURL), unknownBlock: unknownView, unknownInline: unknownView },
    dispatchTransaction(tr: Transaction) {
      const state = view.state.apply(tr);
      view.updateState(state);
      if (tr.docChanged) options.changed(valueOf(state.doc, opened));
      options.updated(state);
    },
  });
  options.updated(view.state);
  return {
    view,
    show(value) {
      opened = value;
      view.updateState(openState(value, options.askLink));
      options.updated(view.state);
    },
  };
}

// valueOf returns the value of a document that was opened with another one.
function valueOf(doc: Node, opened: Json | undefined): Json[] | null {
  if (isBlank(doc) && (opened === null || opened === undefined)) return null;
  return isBlank(doc) && Array.isArray(opened) && opened.length === 0 ? [] : toBlocks(doc);
}

function imageView(fileURL: (url: string) => string): NodeViewConstructor {
  return (node) => {
    const file = (node.attrs.source as JsonObject).image as JsonObject;
    const dom = document.createElement("figure");
    dom.className = "blocks-image";
    const img = dom.appendChild(document.createElement("img"));
    img.alt = String(file.alternativeText ?? "");
    if (typeof file.url === "string") img.src = fileURL(file.url);
    if (file.caption) dom.appendChild(document.createElement("figcaption")).textContent = String(file.caption);
    return { dom };
  };
}

const unknownView: NodeViewConstructor = (node) => {
  const json = (node.attrs.source as JsonObject).json;
  const type = json !== null && typeof json === "object" && !Array.isArray(json) ? json.type : typeof json;
  const dom = document.createElement(node.isInline ? "span" : "div");
  dom.className = "blocks-unknown";
  dom.textContent = t("blocks.unknown", { type: String(type) });
  return { dom };
};
