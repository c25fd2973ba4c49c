// The editor for a blocks attribute: a toolbar and the text. It is loaded when a form first shows one.
import { closeHistory } from "prosemirror-history";
import type { Command, EditorState } from "prosemirror-state";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button, Toolbar, ToggleButton } from "react-aria-components";
import { t } from "../text/text.ts";
import { Echo } from "../ui/echo.ts";
import { LinkIcon } from "../ui/icons.tsx";
import {
  type BlockKind,
  blockKinds,
  insertImage,
  kindAt,
  liftItem,
  linkAt,
  type ListFormat,
  moveBlock,
  removeLink,
  setBlock,
  setLanguage,
  setLink,
  sinkItem,
  toggleList,
  toggleText,
} from "./commands.ts";
import type { Json, JsonObject } from "./mapper.ts";
import { isLinkURL, schema, textMarks } from "./schema.ts";
import { type Editor, openEditor } from "./view.ts";
import "./blocks.css";

export interface BlocksEditorProps {
  value: Json | undefined;
  onChange: (value: Json[] | null) => void;
  labelledBy: string;
  describedBy?: string | undefined;
  isInvalid?: boolean;
  isReadOnly?: boolean;
  // pickImage lets somebody choose an image of the media library.
  pickImage?: (() => Promise<JsonObject | null>) | undefined;
  // fileURL returns the address of a file.
  fileURL?: (url: string) => string;
}

// A Look is what the toolbar shows of the selection.
interface Look {
  kind: BlockKind | ListFormat | null;
  marks: string;
  link: string | null;
  language: string | null;
  sinks: boolean;
  lifts: boolean;
}

function lookOf(state: EditorState): Look {
  const { $from, from, to, empty } = state.selection;
  const stored = state.storedMarks ?? $from.marks();
  const on = textMarks.filter((name) => {
    const mark = schema.marks[name]!;
    return empty ? mark.isInSet(stored) : state.doc.rangeHasMark(from, to, mark);
  });
  const inCode = $from.parent.type === schema.nodes.codeBlock;
  return {
    kind: kindAt($from),
    marks: on.join(" "),
    link: linkAt($from),
    language: inCode ? (($from.parent.attrs.language as string | null) ?? "") : null,
    sinks: sinkItem(state),
    lifts: liftItem(state),
  };
}

// languages are those that the reference offers for code.
const languages = [
  "plaintext",
  "bash",
  "c",
  "cpp",
  "csharp",
  "css",
  "go",
  "graphql",
  "html",
  "java",
  "javascript",
  "json",
  "kotlin",
  "markdown",
  "php",
  "python",
  "ruby",
  "rust",
  "sql",
  "swift",
  "typescript",
  "yaml",
];

export default function BlocksEditor(props: BlocksEditorProps) {
  const { value, labelledBy, describedBy, isInvalid = false, isReadOnly = false, pickImage } = props;
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const echo = useRef(new Echo<Json | undefined>(value)).current;
  const [look, setLook] = useState<Look | null>(null);
  const [asking, setAsking] = useState(false);

  useEffect(() => {
    const made = openEditor({
      place: place.current!,
      value: latest.current.value,
      attributes: { role: "textbox", "aria-multiline": "true", class: "blocks-text" },
      editable: () => !latest.current.isReadOnly,
      askLink: () => setAsking(true),
      fileURL: (url) => latest.current.fileURL?.(url) ?? url,
      changed(next) {
        echo.send(next);
        latest.current.onChange(next);
      },
      updated(state) {
        const next = lookOf(state);
        setLook((old) => (old && sameLook(old, next) ? old : next));
      },
    });
    editor.current = made;
    return () => {
      editor.current = null;
      made.view.destroy();
    };
  }, []);

  // A value from elsewhere, as after a restore, takes the place of the text.
  useEffect(() => {
    if (!echo.isOwn(value)) editor.current?.show(value);
  }, [value]);

  useEffect(() => {
    editor.current?.view.setProps({
      attributes: {
        role: "textbox",
        "aria-multiline": "true",
        "aria-labelledby": labelledBy,
        ...(describedBy ? { "aria-describedby": describedBy } : {}),
        "aria-invalid": String(isInvalid),
        "aria-readonly": String(isReadOnly),
        class: "blocks-text",
      },
    });
  }, [labelledBy, describedBy, isInvalid, isReadOnly]);

  const run = (command: Command) => {
    const view = editor.current?.view;
    if (!view) return;
    view.dispatch(closeHistory(view.state.tr)); // so that undo takes back the command alone
    command(view.state, view.dispatch, view);
    view.focus();
  };

  const addImage = async () => {
    const file = await pickImage?.();
    if (file) run(insertImage(file));
  };

  return (
    <div className="blocks" data-invalid={isInvalid || undefined}>
      {!isReadOnly && look && (
        <Toolbar aria-label={t("blocks.toolbar")} className="blocks-toolbar">
          <KindSelect kind={look.kind} onChoose={(kind) => run(kindCommand(kind))} />
          {textMarks.map((mark) => (
            <Toggle
              key={mark}
              label={t(`blocks.${mark}`)}
              isOn={look.marks.split(" ").includes(mark)}
              onPress={() => run(toggleText(mark))}
            >
              {markSigns[mark]}
            </Toggle>
          ))}
          <Toggle label={t("blocks.link")} isOn={look.link !== null} onPress={() => setAsking(true)}>
            <LinkIcon />
          </Toggle>
          {look.language !== null && (
            <LanguageSelect language={look.language} onChoose={(language) => run(setLanguage(language))} />
          )}
          <Tool label={t("blocks.lift")} isDisabled={!look.lifts} onPress={() => run(liftItem)}>
            ⇤
          </Tool>
          <Tool label={t("blocks.sink")} isDisabled={!look.sinks} onPress={() => run(sinkItem)}>
            ⇥
          </Tool>
          <Tool label={t("blocks.moveUp")} onPress={() => run(moveBlock(-1))}>
            ↑
          </Tool>
          <Tool label={t("blocks.moveDown")} onPress={() => run(moveBlock(1))}>
            ↓
          </Tool>
          {pickImage && (
            <Tool label={t("blocks.image")} onPress={() => void addImage()}>
              ▣
            </Tool>
          )}
        </Toolbar>
      )}
      {asking && (
        <LinkForm
          url={look?.link ?? null}
          onSet={(url) => run(setLink(url))}
          onRemove={() => run(removeLink)}
          onClose={() => {
            setAsking(false);
            editor.current?.view.focus();
          }}
        />
      )}
      <div ref={place} />
    </div>
  );
}

function sameLook(a: Look, b: Look): boolean {
  return (Object.keys(a) as (keyof Look)[]).every((key) => a[key] === b[key]);
}

const markSigns: Record<(typeof textMarks)[number], ReactNode> = {
  bold: <b>B</b>,
  italic: <i>I</i>,
  underline: <u>U</u>,
  strikethrough: <s>S</s>,
  code: <code>{"<>"}</code>,
};

function Toggle(props: { label: string; isOn: boolean; onPress: () => void; children: ReactNode }) {
  return (
    <ToggleButton aria-label={props.label} isSelected={props.isOn} onPress={props.onPress} className="blocks-tool">
      {props.children}
    </ToggleButton>
  );
}

function Tool(props: { label: string; isDisabled?: boolean; onPress: () => void; children: ReactNode }) {
  return (
    <Button
      aria-label={props.label}
      isDisabled={props.isDisabled ?? false}
      onPress={props.onPress}
      className="blocks-tool"
    >
      {props.children}
    </Button>
  );
}

function kindCommand(kind: BlockKind | ListFormat): Command {
  return kind === "ordered" || kind === "unordered" ? toggleList(kind) : setBlock(kind);
}

function KindSelect(props: { kind: Look["kind"]; onChoose: (kind: BlockKind | ListFormat) => void }) {
  return (
    <select
      aria-label={t("blocks.kind")}
      value={props.kind ?? ""}
      onChange={(event) => props.onChoose(event.target.value as BlockKind | ListFormat)}
    >
      {props.kind === null && <option value="">–</option>}
      {[...blockKinds, "unordered" as const, "ordered" as const].map((kind) => (
        <option key={kind} value={kind}>
          {t(`blocks.kind.${kind}`)}
        </option>
      ))}
    </select>
  );
}

function LanguageSelect(props: { language: string; onChoose: (language: string) => void }) {
  const known = ["", ...languages];
  return (
    <select
      aria-label={t("blocks.language")}
      value={props.language}
      onChange={(event) => props.onChoose(event.target.value)}
    >
      {(known.includes(props.language) ? known : [...known, props.language]).map((language) => (
        <option key={language} value={language}>
          {language || t("blocks.noLanguage")}
        </option>
      ))}
    </select>
  );
}

interface LinkFormProps {
  url: string | null;
  onSet: (url: string) => void;
  onRemove: () => void;
  onClose: () => void;
}

function LinkForm(props: LinkFormProps) {
  const id = useId();
  const [url, setURL] = useState(props.url ?? "");
  const wrong = url !== "" && !isLinkURL(url);
  const apply = () => {
    if (!isLinkURL(url)) return;
    props.onSet(url);
    props.onClose();
  };
  return (
    <div
      className="blocks-link-form"
      role="group"
      aria-label={t("blocks.link")}
      onKeyDown={(event) => {
        if (event.key === "Escape") props.onClose();
        if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
        event.preventDefault();
        apply();
      }}
    >
      <label htmlFor={id}>{t("blocks.url")}</label>
      <input
        id={id}
        type="text"
        inputMode="url"
        autoFocus
        value={url}
        onChange={(event) => setURL(event.target.value)}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
      />
      <Button className="button" onPress={apply} isDisabled={!isLinkURL(url)}>
        {t("blocks.setLink")}
      </Button>
      {props.url !== null && (
        <Button
          onPress={() => {
            props.onRemove();
            props.onClose();
          }}
        >
          {t("blocks.removeLink")}
        </Button>
      )}
      <Button className="button" onPress={props.onClose}>
        {t("app.cancel")}
      </Button>
      {wrong && <p id={`${id}-wrong`}>{t("blocks.wrongURL")}</p>}
    </div>
  );
}
