// A field for a single component: its fields, or none.
import { useCallback, useState } from "react";
import { Button } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type Change, changed, type FieldProps, labelOf, useForm } from "../field.ts";
import { Fields } from "../fields.tsx";
import { defaults, isValues, type Values } from "../value.ts";
import { Frame, useFrame } from "./frame.tsx";

export function ComponentField(props: FieldProps) {
  const { components, isReadOnly } = useForm();
  const { name, onChange, attribute, value } = props;
  const attributes = components[attribute.component ?? ""] ?? {};
  const [removed, setRemoved] = useState<Values | null>(null);
  const parts = useFrame(props);
  const set = useCallback(
    (inner: string, change: Change) =>
      onChange(name, (old: unknown) => {
        const values = isValues(old) ? old : {};
        return { ...values, [inner]: changed(change, values[inner]) };
      }),
    [name, onChange],
  );
  const label = labelOf(name);
  return (
    <Frame
      field={props}
      parts={parts}
      isGroup
      beside={
        !isReadOnly &&
        isValues(value) && (
          <Button
            className="button"
            onPress={() => {
              setRemoved(value);
              onChange(name, null);
            }}
          >
            {t("items.removeOne", { name: label })}
          </Button>
        )
      }
    >
      {isValues(value) ? (
        <div className="field-component">
          <Fields attributes={attributes} values={value} path={props.path} onChange={set} />
        </div>
      ) : (
        !isReadOnly && (
          <div className="field-row">
            <Button className="button" onPress={() => onChange(name, defaults(attributes))}>
              {t("items.addOne", { name: label })}
            </Button>
            {removed && (
              <Button className="button" onPress={() => onChange(name, removed)}>
                {t("items.undo")}
              </Button>
            )}
          </div>
        )
      )}
    </Frame>
  );
}
