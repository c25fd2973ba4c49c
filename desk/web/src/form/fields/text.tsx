// Fields for texts of one or several lines, and for passwords.
import { t } from "../../text/text.ts";
import { type FieldProps, useForm } from "../field.ts";
import { Frame, hintOf, inputProps, useFrame } from "./frame.tsx";

const kinds: Record<string, { type: string; inputMode?: "email" }> = {
  email: { type: "text", inputMode: "email" },
  password: { type: "password" },
};

// TextField is a line of text. Without a text, the value is null unless an empty text was typed into a required one.
export function TextField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const isPassword = props.attribute.type === "password";
  const hint = [hintOf(props.attribute), isPassword ? t("field.passwordKept") : ""].filter(Boolean).join(" ");
  const parts = useFrame(props, hint);
  return (
    <Frame field={props} parts={parts}>
      <input
        {...inputProps(parts, props)}
        {...(kinds[props.attribute.type] ?? { type: "text" })}
        autoComplete={isPassword ? "new-password" : "off"}
        value={textOf(props.value)}
        readOnly={isReadOnly}
        onChange={(event) => props.onChange(props.name, written(event.target.value, isPassword))}
      />
    </Frame>
  );
}

// TextArea is a text of several lines, as high as its text.
export function TextArea(props: FieldProps) {
  const { isReadOnly } = useForm();
  const parts = useFrame(props);
  return (
    <Frame field={props} parts={parts}>
      <textarea
        {...inputProps(parts, props)}
        className="field-area"
        rows={3}
        value={textOf(props.value)}
        readOnly={isReadOnly}
        onChange={(event) => props.onChange(props.name, written(event.target.value, false))}
      />
    </Frame>
  );
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === null || value === undefined ? "" : String(value);
}

// written returns the value for a text: null for none; a password that is emptied again is not changed.
function written(text: string, isPassword: boolean): string | null | undefined {
  if (text !== "") return text;
  return isPassword ? undefined : null;
}
