// A field for files: chosen from the library or uploaded here, in an order, with their alternative texts.
import { useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type FieldProps, useForm } from "../field.ts";
import { describe, type FileValue, isAllowed } from "../../files/library.ts";
import { Thumbnail } from "../../files/thumbnail.tsx";
import { UploadButton, useUploads } from "../../files/uploads.tsx";
import { Frame, hintOf, useFrame } from "./frame.tsx";
import { moved } from "../items.ts";
import { EntryButtons, type EntryButtonsProps, Sortable, useEntry } from "./sortable.tsx";
import { FilePicker } from "./picker.tsx";

export function MediaField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const { attribute, name, onChange, value } = props;
  const isMany = attribute.multiple === true;
  const files = (Array.isArray(value) ? value : value ? [value] : []) as FileValue[];
  const kinds = attribute.allowedTypes;
  const hint = [
    hintOf(attribute),
    kinds?.length ? t("media.kinds", { kinds: kinds.map((kind) => t(`media.${kind}` as never)).join(", ") }) : "",
  ];
  const parts = useFrame(props, hint.filter(Boolean).join(" "));
  const [picks, setPicks] = useState(false);
  const change = (by: (old: FileValue[]) => FileValue[]) =>
    onChange(name, (old: unknown) => {
      const next = by((Array.isArray(old) ? old : old ? [old] : []) as FileValue[]);
      return isMany ? next : (next.at(-1) ?? null);
    });
  const add = (added: FileValue[]) =>
    change((old) => [...old, ...added.filter((file) => !old.some((other) => other.id === file.id))]);
  const uploads = useUploads(kinds, (file) => add([file]));
  const names = useMemo(() => files.map((file) => String(file.id)), [files.map((file) => file.id).join(" ")]);
  return (
    <Frame field={props} parts={parts} isGroup>
      <div
        className="files-drop"
        onDragOver={(event) => !isReadOnly && event.dataTransfer.types.includes("Files") && event.preventDefault()}
        onDrop={(event) => {
          if (isReadOnly || event.dataTransfer.files.length === 0) return;
          event.preventDefault();
          uploads.start([...event.dataTransfer.files].slice(0, isMany ? undefined : 1));
        }}
      >
        <Sortable
          names={names}
          label={(key) => files.find((file) => String(file.id) === key)?.name ?? ""}
          onMove={(key, to) => change((old) => moved(old, (file) => String(file.id) === key, to))}
        >
          <ul className="files">
            {files.map((file, index) => (
              <FileRow
                key={file.id}
                file={file}
                isSorted={isMany && !isReadOnly}
                isReadOnly={isReadOnly}
                isFirst={index === 0}
                isLast={index === files.length - 1}
                onMove={(by) => change((old) => moved(old, (other) => other.id === file.id, index + by))}
                onRemove={() => change((old) => old.filter((other) => other.id !== file.id))}
                onDescribed={(next) =>
                  change((old) => old.map((other) => (other.id === next.id ? { ...other, ...next } : other)))
                }
              />
            ))}
          </ul>
        </Sortable>
        {uploads.list}
        {!isReadOnly && (
          <div className="field-row">
            <Button className="button" onPress={() => setPicks(true)}>
              {t(isMany ? "media.pickMany" : "media.pick")}
            </Button>
            <UploadButton kinds={kinds} isMany={isMany} onFiles={uploads.start} />
          </div>
        )}
      </div>
      {picks && (
        <FilePicker
          kinds={kinds}
          isMany={isMany}
          onClose={() => setPicks(false)}
          onPick={(picked) => {
            setPicks(false);
            add(picked.filter((file) => isAllowed(kinds, file.mime)));
          }}
        />
      )}
    </Frame>
  );
}

interface FileRowProps extends Omit<EntryButtonsProps, "name"> {
  file: FileValue;
  onDescribed: (file: FileValue) => void;
}

function FileRow(props: FileRowProps) {
  const { file, isSorted } = props;
  const entry = useEntry(String(file.id), file.name);
  return (
    <li ref={entry.ref} className="file" style={entry.style}>
      {isSorted && entry.handle}
      <Thumbnail file={file} />
      <div className="file-text">
        <span className="file-name">{file.name}</span>
        <AlternativeText file={file} isReadOnly={props.isReadOnly} onDescribed={props.onDescribed} />
      </div>
      <EntryButtons {...props} name={file.name} />
    </li>
  );
}

// AlternativeText belongs to the file, not to the document: it is saved when one leaves it.
function AlternativeText({
  file,
  isReadOnly,
  onDescribed,
}: {
  file: FileValue;
  isReadOnly: boolean;
  onDescribed: (file: FileValue) => void;
}) {
  const [text, setText] = useState(file.alternativeText ?? "");
  const [problem, setProblem] = useState("");
  const save = () => {
    if (text === (file.alternativeText ?? "")) return;
    describe(file.id, { alternativeText: text }).then(
      (next) => {
        setProblem("");
        onDescribed(next);
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  if (!file.mime.startsWith("image/")) return null;
  return (
    <>
      <input
        type="text"
        aria-label={t("media.alternativeText", { name: file.name })}
        placeholder={t("media.alternativeTextShort")}
        value={text}
        readOnly={isReadOnly}
        onChange={(event) => setText(event.target.value)}
        onBlur={save}
      />
      {problem && (
        <p role="alert" className="field-error">
          {problem}
        </p>
      )}
    </>
  );
}
