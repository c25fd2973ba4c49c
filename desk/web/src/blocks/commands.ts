// What people can do in the editor for blocks, as commands of ProseMirror: functions that change the document, or
// report that they do not apply here.
import {
  baseKeymap,
  chainCommands,
  createParagraphNear,
  deleteSelection,
  exitCode,
  joinBackward,
  joinTextblockBackward,
  newlineInCode,
  selectNodeBackward,
  splitBlock,
  toggleMark,
} from "prosemirror-commands";
import { redo, undo } from "prosemirror-history";
import { InputRule, inputRules, textblockTypeInputRule, undoInputRule } from "prosemirror-inputrules";
import { Fragment, type Node, type NodeType, type ResolvedPos } from "prosemirror-model";
import { type Command, NodeSelection, Selection, TextSelection, type Transaction } from "prosemirror-state";
import type { JsonObject } from "./mapper.ts";
import { isLinkURL, schema, type TextMark } from "./schema.ts";

const { nodes, marks } = schema;

export type ListFormat = "ordered" | "unordered";
export type BlockKind = "paragraph" | "quote" | "code" | `heading${1 | 2 | 3 | 4 | 5 | 6}`;
export const blockKinds: BlockKind[] = [
  "paragraph",
  "heading1",
  "heading2",
  "heading3",
  "heading4",
  "heading5",
  "heading6",
  "quote",
  "code",
];

export function toggleText(mark: TextMark): Command {
  return toggleMark(marks[mark]!, null, { includeWhitespace: true });
}

function typeOf(kind: BlockKind): { type: NodeType; level?: number } {
  if (kind === "code") return { type: nodes.codeBlock! };
  if (kind.startsWith("heading")) return { type: nodes.heading!, level: Number(kind.slice("heading".length)) };
  return { type: nodes[kind]! };
}

// kindAt returns the kind of the block, or the format of the list, at a place.
export function kindAt($at: ResolvedPos): BlockKind | ListFormat | null {
  const list = listDepth($at);
  if (list !== null) return $at.node(list).attrs.format as ListFormat;
  const block = $at.parent;
  if (block.type === nodes.heading) return `heading${block.attrs.level as 1}`;
  if (block.type === nodes.codeBlock) return "code";
  return block.isTextblock ? (block.type.name as BlockKind) : null;
}

// listDepth returns the depth of the innermost list around an item at a place, or null outside of items.
function listDepth($at: ResolvedPos): number | null {
  return $at.parent.type === nodes.listItem ? $at.depth - 1 : null;
}

// setBlock makes the selected blocks, or the items of the list, blocks of a kind.
export function setBlock(kind: BlockKind): Command {
  const { type, level } = typeOf(kind);
  return (state, dispatch) => {
    const tr = state.tr;
    while (listDepth(tr.selection.$from) !== null && liftOnce(tr));
    const { from, to } = tr.selection;
    let possible = false;
    tr.doc.nodesBetween(from, to, (node) => {
      if (!node.isTextblock) return true;
      if (type !== nodes.codeBlock || !hasUnknown(node)) possible = true;
      return false;
    });
    if (!possible) return false;
    const steps = tr.steps.length;
    tr.doc.nodesBetween(from, to, (node, at) => {
      if (!node.isTextblock) return true;
      if (type === nodes.codeBlock && hasUnknown(node)) return false;
      const start = tr.mapping.slice(steps).map(at) + 1;
      tr.setBlockType(start, start, type, (old) => ({
        source: old.attrs.source,
        ...(level ? { level } : {}),
      }));
      return false;
    });
    dispatch?.(tr.scrollIntoView());
    return true;
  };
}

function hasUnknown(block: Node): boolean {
  return block.children.some((child) => child.type === nodes.unknownInline);
}

// toggleList makes the selected blocks items of a list; items of such a list become paragraphs again, and lists of the
// other format change theirs.
export function toggleList(format: ListFormat): Command {
  return (state, dispatch) => {
    const { $from, $to } = state.selection;
    const depth = listDepth($from);
    const tr = state.tr;
    if (depth !== null && $from.node(depth).attrs.format === format) {
      while (listDepth(tr.selection.$from) !== null && liftOnce(tr));
      dispatch?.(tr.scrollIntoView());
      return true;
    }
    if (depth !== null) {
      dispatch?.(tr.setNodeAttribute($from.before(depth), "format", format));
      return true;
    }
    if ($from.depth === 0) return false;
    const first = $from.index(0);
    const last = $to.depth === 0 ? first : $to.index(0);
    const blocks = state.doc.children.slice(first, last + 1);
    if (!blocks.every((block) => block.isTextblock)) return false;
    const items = blocks.map((block) => nodes.listItem!.create({ source: block.attrs.source }, inlineOf(block)));
    const start = $from.before(1);
    const list = nodes.list!.create({ format }, items);
    tr.replaceWith(start, start + blocks.reduce((size, block) => size + block.nodeSize, 0), list);
    restoreSelection(tr, state.selection, 1);
    dispatch?.(tr.scrollIntoView());
    return true;
  };
}

// inlineOf returns the content of a block as the content of an item: new lines of code become line breaks.
function inlineOf(block: Node): Fragment {
  if (block.type !== nodes.codeBlock) return block.content;
  const out: Node[] = [];
  block.forEach((text) => {
    text.text!.split("\n").forEach((line, i) => {
      if (i > 0) out.push(nodes.lineBreak!.create(null, null, text.marks));
      if (line) out.push(schema.text(line, text.marks));
    });
  });
  return Fragment.fromArray(out);
}

// restoreSelection selects the same text as before, which a replacement moved by a number of positions.
function restoreSelection(tr: Transaction, before: Selection, moved: number) {
  const end = tr.doc.content.size;
  const [anchor, head] = [before.anchor, before.head].map((at) => Math.max(0, Math.min(at + moved, end)));
  tr.setSelection(TextSelection.between(tr.doc.resolve(anchor!), tr.doc.resolve(head!)));
}

// sinkItem puts the selected items into a list below the item before them.
export const sinkItem: Command = (state, dispatch) => {
  const { $from, $to } = state.selection;
  const depth = listDepth($from);
  if (depth === null || $to.depth < depth || $to.node(depth) !== $from.node(depth)) return false;
  const list = $from.node(depth);
  const [first, last] = [$from.index(depth), $to.index(depth)];
  if (first === 0) return false;
  const before = list.child(first - 1);
  const after = last + 1 < list.childCount ? list.child(last + 1) : null;
  const joined = [before, after].map((node) => (node?.type === nodes.list ? node : null));
  const start = $from.posAtIndex(first, depth) - (joined[0]?.nodeSize ?? 0);
  const end = $from.posAtIndex(last + 1, depth) + (joined[1]?.nodeSize ?? 0);
  const content = [
    ...(joined[0]?.children ?? []),
    ...list.children.slice(first, last + 1),
    ...(joined[1]?.children ?? []),
  ];
  const attrs = (joined[0] ?? joined[1])?.attrs ?? { format: list.attrs.format };
  const tr = state.tr.replaceWith(start, end, nodes.list!.create(attrs, content));
  restoreSelection(tr, state.selection, joined[0] ? -1 : 1);
  dispatch?.(tr.scrollIntoView());
  return true;
};

// liftItem moves the selected items out of their list: into the list around it, or among the paragraphs.
export const liftItem: Command = (state, dispatch) => {
  const tr = state.tr;
  if (!liftOnce(tr)) return false;
  dispatch?.(tr.scrollIntoView());
  return true;
};

function liftOnce(tr: Transaction): boolean {
  const { $from, $to } = tr.selection;
  const depth = listDepth($from);
  if (depth === null) return false;
  const list = $from.node(depth);
  const [first, last] = [$from.index(depth), $to.depth >= depth ? $to.index(depth) : $from.index(depth)];
  const inList = $from.node(depth - 1).type === nodes.list;
  const lifted = list.children
    .slice(first, last + 1)
    .map((node) =>
      inList || node.type !== nodes.listItem
        ? node
        : nodes.paragraph!.create({ source: node.attrs.source }, node.content),
    );
  const part = (from: number, to: number) =>
    from < to ? [nodes.list!.create(list.attrs, list.children.slice(from, to))] : [];
  const start = $from.before(depth);
  const selection = tr.selection;
  tr.replaceWith(start, $from.after(depth), [...part(0, first), ...lifted, ...part(last + 1, list.childCount)]);
  restoreSelection(tr, selection, first > 0 ? 1 : -1);
  return true;
}

// leaveEmptyItem lifts an item that is empty, so that Enter in it ends the list.
const leaveEmptyItem: Command = (state, dispatch) =>
  state.selection.empty && state.selection.$from.parent.content.size === 0 ? liftItem(state, dispatch) : false;

// resetAtStart makes the block a paragraph, or lifts the item, if the cursor is at its start.
const resetAtStart: Command = (state, dispatch) => {
  const { $from, empty } = state.selection;
  if (!empty || $from.parentOffset > 0 || !$from.parent.isTextblock || $from.parent.type === nodes.paragraph)
    return false;
  return listDepth($from) !== null ? liftItem(state, dispatch) : setBlock("paragraph")(state, dispatch);
};

const insertBreak: Command = (state, dispatch) => {
  const { $from, $to } = state.selection;
  if (!$from.parent.inlineContent || !$from.sameParent($to)) return false;
  if ($from.parent.type === nodes.codeBlock) return newlineInCode(state, dispatch);
  dispatch?.(state.tr.replaceSelectionWith(nodes.lineBreak!.create()).scrollIntoView());
  return true;
};

// leaveLastBlock adds a paragraph below the last block, so that one can write on below code or a picture.
const leaveLastBlock: Command = (state, dispatch, view) => {
  const { $to } = state.selection;
  const last = state.doc.lastChild;
  const at = state.selection instanceof NodeSelection ? state.selection.to : $to.after(1);
  if (!last || last.type === nodes.paragraph || at < state.doc.content.size) return false;
  if (!(state.selection instanceof NodeSelection) && view && !view.endOfTextblock("down")) return false;
  const tr = state.tr.insert(state.doc.content.size, nodes.paragraph!.create());
  dispatch?.(tr.setSelection(Selection.atEnd(tr.doc)).scrollIntoView());
  return true;
};

// selectText selects all if the document begins and ends with text, so that the commands for texts apply.
const selectText: Command = (state, dispatch) => {
  const whole = TextSelection.between(state.doc.resolve(0), state.doc.resolve(state.doc.content.size));
  const [first, last] = [whole.$from.index(0), whole.$to.index(0)];
  if (!(whole instanceof TextSelection) || first > 0 || last < state.doc.childCount - 1) return false;
  dispatch?.(state.tr.setSelection(whole));
  return true;
};

// moveBlock moves the selected blocks up or down.
export function moveBlock(by: -1 | 1): Command {
  return (state, dispatch) => {
    const { $from, $to, from, to } = state.selection;
    const first = $from.index(0);
    const last = $to.depth === 0 ? Math.max(first, $to.index(0) - 1) : $to.index(0);
    const other = state.doc.maybeChild(by < 0 ? first - 1 : last + 1);
    if (!other) return false;
    const moved = state.doc.children.slice(first, last + 1);
    const start = $from.posAtIndex(by < 0 ? first - 1 : first, 0);
    const end = $from.posAtIndex(by < 0 ? last + 1 : last + 2, 0);
    const tr = state.tr.replaceWith(start, end, by < 0 ? [...moved, other] : [other, ...moved]);
    const distance = by * other.nodeSize;
    const selection =
      state.selection instanceof NodeSelection && $from.depth === 0
        ? NodeSelection.create(tr.doc, from + distance)
        : TextSelection.between(tr.doc.resolve(from + distance), tr.doc.resolve(to + distance));
    dispatch?.(tr.setSelection(selection).scrollIntoView());
    return true;
  };
}

// setLanguage sets the language of the block of code with the cursor.
export function setLanguage(language: string): Command {
  return (state, dispatch) => {
    const { $from } = state.selection;
    if ($from.parent.type !== nodes.codeBlock) return false;
    dispatch?.(state.tr.setNodeAttribute($from.before(), "language", language || null));
    return true;
  };
}

// linkAt returns the url of the link at the selection, or null.
export function linkAt($at: ResolvedPos): string | null {
  const mark =
    $at.marks().find((m) => m.type === marks.link) ?? $at.nodeAfter?.marks.find((m) => m.type === marks.link);
  return (mark?.attrs.url as string | undefined) ?? null;
}

// linkRange returns where the link around a place begins and ends.
function linkRange($at: ResolvedPos): { from: number; to: number } | null {
  const parent = $at.parent;
  const url = linkAt($at);
  if (url === null) return null;
  const linked = (i: number) =>
    i >= 0 && i < parent.childCount && parent.child(i).marks.some((m) => m.type === marks.link && m.attrs.url === url);
  let first = $at.index();
  if (!linked(first)) first--;
  let last = first;
  while (linked(first - 1)) first--;
  while (linked(last + 1)) last++;
  return { from: $at.posAtIndex(first), to: $at.posAtIndex(last + 1) };
}

// setLink links the selection, or the link at the cursor, to a url; without either, it inserts the url as a link.
export function setLink(url: string): Command {
  return (state, dispatch) => {
    if (!isLinkURL(url) || !state.selection.$from.parent.type.allowsMarkType(marks.link!)) return false;
    const range = state.selection.empty ? linkRange(state.selection.$from) : state.selection;
    const old = state.selection.$from.marks().find((m) => m.type === marks.link);
    const link = marks.link!.create({ url, props: old?.attrs.props ?? null });
    const tr = range
      ? state.tr.addMark(range.from, range.to, link)
      : state.tr.replaceSelectionWith(schema.text(url, link.addToSet(state.selection.$from.marks())), false);
    dispatch?.(tr.scrollIntoView());
    return true;
  };
}

// removeLink makes the link at the selection plain text.
export const removeLink: Command = (state, dispatch) => {
  const range = state.selection.empty ? linkRange(state.selection.$from) : state.selection;
  if (!range || !state.doc.rangeHasMark(range.from, range.to, marks.link!)) return false;
  dispatch?.(state.tr.removeMark(range.from, range.to, marks.link!));
  return true;
};

// insertImage inserts a file of the media library below the block with the cursor.
export function insertImage(file: JsonObject): Command {
  const image = nodes.image!.create({ source: { type: "image", image: file, children: [{ type: "text", text: "" }] } });
  return (state, dispatch) => {
    const { $from } = state.selection;
    const inEmpty = $from.depth === 1 && $from.parent.type === nodes.paragraph && $from.parent.content.size === 0;
    const at = $from.depth === 0 ? state.selection.to : $from.after(1);
    const tr = inEmpty ? state.tr.replaceWith($from.before(1), at, image) : state.tr.insert(at, image);
    const end = inEmpty ? $from.before(1) + 1 : at + 1;
    if (end === tr.doc.content.size) tr.insert(end, nodes.paragraph!.create());
    dispatch?.(tr.setSelection(Selection.near(tr.doc.resolve(end), 1)).scrollIntoView());
    return true;
  };
}

// keys are the commands that keys call. askLink asks for the url of a link.
export function keys(askLink: () => void): Record<string, Command> {
  const heading = ([1, 2, 3, 4, 5, 6] as const).map((level) => [`Mod-Alt-${level}`, setBlock(`heading${level}`)]);
  return {
    ...baseKeymap,
    ...Object.fromEntries(heading),
    "Mod-Alt-0": setBlock("paragraph"),
    "Mod-a": chainCommands(selectText, baseKeymap["Mod-a"]!),
    "Mod-b": toggleText("bold"),
    "Mod-i": toggleText("italic"),
    "Mod-u": toggleText("underline"),
    "Mod-Shift-x": toggleText("strikethrough"),
    "Mod-e": toggleText("code"),
    "Mod-k": (state) => {
      if (!state.selection.$from.parent.type.allowsMarkType(marks.link!)) return false;
      askLink();
      return true;
    },
    "Mod-Shift-7": toggleList("ordered"),
    "Mod-Shift-8": toggleList("unordered"),
    "Mod-]": sinkItem,
    "Mod-[": liftItem,
    Tab: sinkItem,
    "Shift-Tab": (state, dispatch) => {
      const depth = listDepth(state.selection.$from);
      return depth !== null && depth > 1 ? liftItem(state, dispatch) : false;
    },
    Enter: chainCommands(newlineInCode, leaveEmptyItem, createParagraphNear, splitBlock),
    "Shift-Enter": insertBreak,
    "Mod-Enter": exitCode,
    Backspace: chainCommands(
      undoInputRule,
      deleteSelection,
      resetAtStart,
      joinTextblockBackward,
      joinBackward,
      selectNodeBackward,
    ),
    "Mod-z": undo,
    "Mod-y": redo,
    "Mod-Shift-z": redo,
    "Alt-ArrowUp": moveBlock(-1),
    "Alt-ArrowDown": moveBlock(1),
    ArrowDown: leaveLastBlock,
  };
}

// listRule makes a list of a paragraph that begins with a sign.
function listRule(sign: RegExp, format: ListFormat): InputRule {
  return new InputRule(sign, (state, _match, start, end) => {
    if (state.selection.$from.parent.type !== nodes.paragraph) return null;
    const tr = state.tr.delete(start, end);
    let result: Transaction | null = null;
    toggleList(format)(state.apply(tr), (made) => (result = made));
    if (!result) return null;
    for (const step of (result as Transaction).steps) tr.step(step);
    return tr.setSelection(Selection.near(tr.doc.resolve(start + 1)));
  });
}

// typingRules turn signs of Markdown into blocks while one types.
export const typingRules = inputRules({
  rules: [
    textblockTypeInputRule(/^(#{1,6})\s$/, nodes.heading!, (match) => ({ level: match[1]!.length })),
    textblockTypeInputRule(/^>\s$/, nodes.quote!),
    textblockTypeInputRule(/^```$/, nodes.codeBlock!),
    listRule(/^[-*]\s$/, "unordered"),
    listRule(/^1[.)]\s$/, "ordered"),
  ],
});
