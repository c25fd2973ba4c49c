// Fields for dates, times of day and timestamps.
import { t } from "../../text/text.ts";
import { type FieldProps, useForm } from "../field.ts";
import { fullTime, localTime, timeOfDay, universalTime } from "../time.ts";
import { Frame, inputProps, useFrame } from "./frame.tsx";
import { textOf } from "./text.tsx";

const inputs: Record<string, { type: string; show: (value: string) => string; read: (text: string) => string | null }> =
  {
    date: { type: "date", show: (value) => value, read: (text) => text || null },
    time: { type: "time", show: timeOfDay, read: fullTime },
    datetime: { type: "datetime-local", show: localTime, read: universalTime },
  };

export function TimeField(props: FieldProps) {
  const { isReadOnly } = useForm();
  const input = inputs[props.attribute.type === "timestamp" ? "datetime" : props.attribute.type]!;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const parts = useFrame(props, input.type === "datetime-local" ? t("field.zone", { zone }) : undefined);
  const text = textOf(props.value);
  return (
    <Frame field={props} parts={parts}>
      <input
        {...inputProps(parts, props)}
        type={input.type}
        className="field-time"
        step={input.type === "date" ? undefined : /\.\d*[1-9]/.test(text) ? 0.001 : 1}
        value={text === "" ? "" : input.show(text)}
        readOnly={isReadOnly}
        onChange={(event) => props.onChange(props.name, input.read(event.target.value))}
      />
    </Frame>
  );
}
