// A field for numbers, which keeps all digits that somebody types.
import { useState } from "react";
import { t } from "../../text/text.ts";
import { exactNumber, numberText } from "../../api/exact.ts";
import { type FieldProps, useForm } from "../field.ts";
import { Frame, inputProps, useFrame } from "./frame.tsx";

// readNumber returns the value for a text, or undefined if it is not one of the type.
export function readNumber(type: string, text: string): unknown {
  if (text.trim() === "") return null;
  if (type === "biginteger") return /^[+-]?\d+$/.test(text.trim()) ? text.trim() : undefined;
  const number = exactNumber(text);
  if (number === null) return undefined;
  return type === "integer" && /[.eE]/.test(numberText(number)) ? undefined : number;
}

type NumberType = "integer" | "biginteger" | "float" | "decimal";

// NumberField is a text field, since number inputs of browsers change long numbers, and what is no number to nothing.
// What is no number yet is sent as it was typed, so that it is kept, and the server says what is wrong.
export function NumberField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const type = props.attribute.type;
  const [typed, setTyped] = useState<string | null>(null);
  const shown = numberText(props.value);
  const text = typed !== null && numberText(valueOf(type, typed)) === shown ? typed : shown;
  const isWrong = readNumber(type, text) === undefined;
  const parts = useFrame(props);
  const described = isWrong
    ? { ...parts, isInvalid: true, errors: [...parts.errors, t(`field.wrong.${type as NumberType}`)] }
    : parts;
  return (
    <Frame field={props} parts={described}>
      <input
        {...inputProps(described, props)}
        aria-describedby={isWrong ? `${parts.describedBy ?? ""} ${parts.id}-error`.trim() : parts.describedBy}
        type="text"
        inputMode={type === "integer" || type === "biginteger" ? "numeric" : "decimal"}
        className="field-number"
        autoComplete="off"
        value={text}
        readOnly={isReadOnly}
        onChange={(event) => {
          setTyped(event.target.value);
          props.onChange(props.name, valueOf(type, event.target.value));
        }}
      />
    </Frame>
  );
}

function valueOf(type: string, text: string): unknown {
  const value = readNumber(type, text);
  return value === undefined ? text : value;
}
