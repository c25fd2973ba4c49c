// One attribute of many documents is set to one value, which is given as in a form.
import { useMemo, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { type Access, type ContentType, readsDrafts } from "../../api/access.ts";
import type { Json } from "../../api/json.ts";
import { formOf } from "../../form/context.ts";
import { type Change, changed, labelOf } from "../../form/field.ts";
import { DocumentForm } from "../../form/form.tsx";
import { bodyOf, hasUnparsed, isMany, type Values } from "../../form/value.ts";
import { t } from "../../text/text.ts";

interface SetProps {
  access: Access;
  type: ContentType;
  count: number;
  locale: string;
  onSet: (data: Record<string, Json>) => void;
  onNo: () => void;
}

// settable returns the attributes of which many documents may have the same value.
export function settable(type: ContentType): string[] {
  const written = type.actions.update?.fields ?? [];
  return Object.entries(type.schema.attributes).filter(([name, a]) =>
    written.includes(name) && !a.unique && !["uid", "component", "dynamiczone", "password"].includes(a.type) && !(a.type === "relation" && isMany(a)))
    .map(([name]) => name);
}

export default function SetDialog({ access, type, count, locale, onSet, onNo }: SetProps) {
  const names = settable(type);
  const [name, setName] = useState(names[0] ?? "");
  const [values, setValues] = useState<Values>({});
  const form = useMemo(() => {
    const whole = formOf(access, type, { documentId: null, locale: locale || null, status: readsDrafts(access, type) ? "draft" : "published" });
    const attribute = whole.attributes[name];
    return { ...whole, attributes: attribute ? { [name]: attribute } : {} };
  }, [access, type, locale, name]);
  const onChange = useMemo(() => (of: string, change: Change) => setValues((old) => ({ ...old, [of]: changed(change, old[of]) })), []);
  const data = { [name]: null, ...bodyOf(form.attributes, form.components, null, { [name]: values[name] }) } as Record<string, Json>;
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onNo()}>
      <Modal className="modal">
        <Dialog className="column">
          <Heading slot="title">{t("list.setOf", { n: count })}</Heading>
          <select aria-label={t("list.attribute")} value={name} onChange={(event) => setName(event.target.value)}>
            {names.map((one) => <option key={one} value={one}>{labelOf(one)}</option>)}
          </select>
          <DocumentForm key={name} form={form} values={values} errors={noErrors} onChange={onChange} />
          <div className="row end">
            <Button className="button" onPress={onNo}>{t("app.cancel")}</Button>
            <Button className="button primary" isDisabled={hasUnparsed(values[name])} onPress={() => onSet(data)}>{t("list.setThis")}</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

const noErrors = new Map<string, string[]>();
