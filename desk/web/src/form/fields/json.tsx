import { useState } from "react";
import { t } from "../../text/text.ts";
import type { Json } from "../../api/json.ts";
import { equal } from "../../keep/merge.ts";
import { textOfUnparsed, unparsedText } from "../value.ts";
import { type FieldProps, useForm } from "../field.ts";
import { jsonText, readJSON } from "../json.ts";
import { chunk } from "../../ui/chunk.tsx";
import { Frame, useFrame } from "./frame.tsx";

const CodeEditor = chunk(() => import("./code.tsx"));

// JSONField edits a value as a text. A text that is no JSON is kept as it was typed.
export function JSONField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const [typed, setTyped] = useState<{ text: string; value: unknown } | null>(null);
  const value = props.value ?? null;
  const isTyped = typed !== null && equal(typed.value as Json, value as Json);
  const text = textOfUnparsed(value) ?? (isTyped ? typed.text : jsonText(value));
  const read = readJSON(text);
  const parts = useFrame(props);
  const shown =
    "message" in read
      ? { ...parts, isInvalid: true, errors: [...parts.errors, t("field.wrong.json", { message: read.message })] }
      : parts;
  return (
    <Frame field={props} parts={shown} isGroup>
      <CodeEditor
        fallback={<textarea className="field-area" readOnly value={text} aria-labelledby={parts.labelId} />}
        language="json"
        value={text}
        attributes={{ "aria-labelledby": parts.labelId, "aria-invalid": String(shown.isInvalid) }}
        isReadOnly={isReadOnly}
        check={(now) => {
          const result = readJSON(now);
          return "message" in result ? result : null;
        }}
        onChange={(now) => {
          const result = readJSON(now);
          if ("message" in result) return props.onChange(props.name, unparsedText(now));
          setTyped({ text: now, value: result.value });
          props.onChange(props.name, result.value);
        }}
      />
    </Frame>
  );
}
