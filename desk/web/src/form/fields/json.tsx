import { lazy, Suspense, useState } from "react";
import { t } from "../../text/text.ts";
import { equal } from "../value.ts";
import { type FieldProps, useForm } from "../field.ts";
import { jsonText, readJSON } from "../json.ts";
import { Frame, useFrame } from "./frame.tsx";

const CodeEditor = lazy(() => import("./code.tsx"));

// JSONField edits a value as a text. A text that is no JSON is kept as it was typed, beside the last value that was.
export function JSONField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const [typed, setTyped] = useState<{ text: string; value: unknown } | null>(null);
  const text = typed && equal(typed.value, props.value ?? null) ? typed.text : jsonText(props.value);
  const read = readJSON(text);
  const parts = useFrame(props);
  const shown =
    "message" in read
      ? { ...parts, isInvalid: true, errors: [...parts.errors, t("field.wrong.json", { message: read.message })] }
      : parts;
  return (
    <Frame field={props} parts={shown} isGroup>
      <Suspense fallback={<textarea className="field-area" readOnly value={text} aria-labelledby={parts.labelId} />}>
        <CodeEditor
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
            const value = "message" in result ? (props.value ?? null) : result.value;
            setTyped({ text: now, value });
            if (!("message" in result)) props.onChange(props.name, value);
          }}
        />
      </Suspense>
    </Frame>
  );
}
