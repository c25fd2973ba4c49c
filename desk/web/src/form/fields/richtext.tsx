import { useDeferredValue, useState } from "react";
import { ToggleButton } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type FieldProps, useForm } from "../field.ts";
import { chunk } from "../../ui/chunk.tsx";
import { Frame, useFrame } from "./frame.tsx";
import { textOf } from "./text.tsx";

const CodeEditor = chunk(() => import("./code.tsx"));
const Preview = chunk(() => import("./preview.tsx"));

// RichTextField edits Markdown, with a preview beside it if one wants.
export function RichTextField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const [previews, setPreviews] = useState(false);
  const parts = useFrame(props);
  const text = textOf(props.value);
  const deferred = useDeferredValue(text);
  return (
    <Frame
      field={props}
      parts={parts}
      isGroup
      beside={
        <ToggleButton className="button field-toggle" isSelected={previews} onChange={setPreviews}>
          {t("field.preview")}
        </ToggleButton>
      }
    >
      <div className="field-split">
        <CodeEditor
          fallback={<textarea className="field-area" readOnly value={text} aria-labelledby={parts.labelId} />}
          language="markdown"
          value={text}
          attributes={{
            "aria-labelledby": parts.labelId,
            "aria-invalid": String(parts.isInvalid),
            spellcheck: "true",
          }}
          isReadOnly={isReadOnly}
          onChange={(now) => props.onChange(props.name, now === "" ? null : now)}
        />
        {previews && <Preview text={deferred} fallback={null} />}
      </div>
    </Frame>
  );
}
