// Fields for booleans and enumerations.
import { t } from "../../text/text.ts";
import { type FieldProps, useForm } from "../field.ts";
import { Frame, inputProps, useFrame } from "./frame.tsx";
import { textOf } from "./text.tsx";

// BooleanField has a third state, "not set", unless a value is required.
export function BooleanField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const parts = useFrame(props);
  const value = props.value ?? null;
  const states: [string, boolean | null][] = [
    ["field.yes", true],
    ["field.no", false],
  ];
  if (!props.attribute.required) states.push(["field.notSet", null]);
  return (
    <Frame field={props} parts={parts} isGroup>
      <div className="field-choices">
        {states.map(([label, state]) => (
          <label key={label}>
            <input
              type="radio"
              name={parts.id}
              checked={value === state}
              disabled={isReadOnly}
              onChange={() => props.onChange(props.name, state)}
            />
            {t(label as never)}
          </label>
        ))}
      </div>
    </Frame>
  );
}

export function EnumerationField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const parts = useFrame(props);
  const values = props.attribute.enum ?? [];
  const value = textOf(props.value);
  return (
    <Frame field={props} parts={parts}>
      <select
        {...inputProps(parts, props)}
        value={value}
        disabled={isReadOnly}
        onChange={(event) => props.onChange(props.name, event.target.value === "" ? null : event.target.value)}
      >
        {(!props.attribute.required || value === "") && <option value="">{t("field.notSet")}</option>}
        {(value === "" || values.includes(value) ? values : [...values, value]).map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    </Frame>
  );
}
