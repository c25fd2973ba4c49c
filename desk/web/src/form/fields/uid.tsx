// A field for a uid, which can be made of the attribute that its definition names.
import { useEffect, useState } from "react";
import { Button } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type FieldProps, labelOf, useForm } from "../field.ts";
import { Frame, hintOf, inputProps, useFrame } from "./frame.tsx";
import { textOf } from "./text.tsx";

export function UIDField(props: FieldProps) {
  const { uid, documentId, locale, isReadOnly, server } = useForm();
  const { attribute, name } = props;
  const type = server.types[uid];
  const text = textOf(props.value);
  const [checked, setChecked] = useState<{ text: string; isTaken: boolean } | null>(null);
  // Only uids of the document itself can be looked for; those in components belong to their place.
  const isChecked = type && props.path === name && text !== "" && !isReadOnly;

  useEffect(() => {
    if (!isChecked || checked?.text === text) return;
    let isOver = false;
    const timer = setTimeout(() => {
      server.isTaken(type, name, text, documentId, locale).then(
        (isTaken) => isOver || setChecked({ text, isTaken }),
        () => {}, // it is only a hint: the server says so again when the document is saved
      );
    }, 300);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isChecked, text]);

  const make = async () => {
    const { slugOf, numbered } = await import("../slug.ts");
    const most = Math.min(120, attribute.maxLength ?? 120);
    const source = textOf(props.siblings()[attribute.targetField ?? ""]);
    const slug = slugOf(source, most) || textOf(attribute.default) || type?.schema.singularName || "";
    let n = 0;
    if (type && props.path === name) {
      while (n < 20 && (await server.isTaken(type, name, numbered(slug, n, most), documentId, locale))) n++;
    }
    props.onChange(name, numbered(slug, n, most));
  };

  const state = isChecked && checked?.text === text ? t(checked.isTaken ? "uid.taken" : "uid.free") : "";
  const parts = useFrame(props, [hintOf(attribute), state].filter(Boolean).join(" "));
  return (
    <Frame field={props} parts={parts}>
      <div className="field-row">
        <input
          {...inputProps(parts, props)}
          type="text"
          autoComplete="off"
          spellCheck={false}
          value={text}
          readOnly={isReadOnly}
          onChange={(event) => props.onChange(name, event.target.value || null)}
        />
        {attribute.targetField && !isReadOnly && (
          <Button className="button" onPress={() => void make()}>
            {t("uid.make", { name: labelOf(attribute.targetField) })}
          </Button>
        )}
      </div>
    </Frame>
  );
}
