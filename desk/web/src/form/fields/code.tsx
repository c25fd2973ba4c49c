// The editor for Markdown and JSON. It is loaded when a form first shows one.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  defineLanguageFacet,
  indentOnInput,
  Language,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { GFM, parser } from "@lezer/markdown";
import { useEffect, useRef } from "react";
import { Echo } from "../../ui/echo.ts";
import { adoptStyles } from "./styles.ts";

adoptStyles();

export interface CodeEditorProps {
  language: "markdown" | "json";
  value: string;
  onChange: (text: string) => void;
  attributes: Record<string, string>;
  isReadOnly: boolean;
  // check returns what is wrong with a text, and where.
  check?: (text: string) => { from: number; message: string } | null;
}

// Only the syntax of Markdown: the package for it brings those of HTML, CSS and JavaScript, which are four times as
// large.
const markdown = new Language(defineLanguageFacet(), parser.configure(GFM), [], "markdown");

// Escape, then Tab, leaves the editor: CodeMirror's own way, so Tab can indent.
const shared = [
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  syntaxHighlighting(classHighlighter),
  EditorView.lineWrapping,
];

export default function CodeEditor(props: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const settings = useRef(new Compartment());
  const echo = useRef(new Echo(props.value)).current;

  useEffect(() => {
    const { language, value } = latest.current;
    const made = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          ...shared,
          keymap.of([
            ...defaultKeymap,
            ...historyKeymap,
            ...lintKeymap,
            ...(language === "json" ? [indentWithTab] : []),
          ]),
          language === "json" ? [json(), lineNumbers(), linter(diagnose, { delay: 200 })] : markdown.extension,
          settings.current.of(settingsOf(latest.current)),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = update.state.doc.toString();
            echo.send(text);
            latest.current.onChange(text);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();

    function diagnose(shown: EditorView): Diagnostic[] {
      const wrong = latest.current.check?.(shown.state.doc.toString());
      if (!wrong) return [];
      const from = Math.min(wrong.from, shown.state.doc.length);
      return [{ from, to: Math.min(from + 1, shown.state.doc.length), severity: "error", message: wrong.message }];
    }
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: settings.current.reconfigure(settingsOf(props)) });
  }, [JSON.stringify(props.attributes), props.isReadOnly]);

  // A value from elsewhere, as after a restore, takes the place of the text.
  useEffect(() => {
    const shown = view.current;
    if (echo.isOwn(props.value) || !shown) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: props.value } });
  }, [props.value]);

  return <div ref={place} className="field-code" />;
}

function settingsOf({ attributes, isReadOnly }: CodeEditorProps) {
  return [
    EditorView.contentAttributes.of({ ...attributes, "aria-readonly": String(isReadOnly) }),
    EditorState.readOnly.of(isReadOnly),
  ];
}
