// A dialog that makes a document of a type, while one writes another that leads to it.
import { useCallback, useMemo, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { type ContentType, isLocalized, pathOf, writtenBy } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { t } from "../../text/text.ts";
import { errorsAt } from "../errors.ts";
import { type Change, changed, Errors, Form, type FormContext, useForm } from "../field.ts";
import { Fields } from "../fields.tsx";
import { bodyOf, defaults, isValues, type Values } from "../value.ts";

interface CreateDialogProps {
  type: ContentType;
  onClose: () => void;
  onCreated: (document: Values) => void;
}

export function CreateDialog({ type, onClose, onCreated }: CreateDialogProps) {
  const outer = useForm();
  const written = useMemo(() => writtenBy(type, type.actions.create), [type]);
  const [values, setValues] = useState<Values>(() => defaults(written));
  const [errors, setErrors] = useState(new Map<string, string[]>());
  const [isSaving, setSaving] = useState(false);
  const form = useMemo(
    (): FormContext => ({
      ...outer,
      uid: type.uid,
      documentId: null,
      status: "draft",
      attributes: type.schema.attributes,
      isReadOnly: false,
      isLocalized: isLocalized(type),
      written,
    }),
    [outer, type, written],
  );
  const set = useCallback(
    (name: string, change: Change) => setValues((old) => ({ ...old, [name]: changed(change, old[name]) })),
    [],
  );
  const save = async () => {
    setSaving(true);
    try {
      const query = {
        ...(type.schema.draftAndPublish ? { status: "draft" } : {}),
        ...(isLocalized(type) && outer.locale ? { locale: outer.locale } : {}),
      };
      const data = bodyOf(written, outer.components, null, values);
      const { body } = await ask({ method: "POST", path: pathOf(type), query, body: { data: data as Json } });
      if (isValues(body) && isValues(body.data)) onCreated(body.data);
    } catch (error) {
      setErrors(errorsAt(error));
      setSaving(false);
    }
  };
  return (
    <ModalOverlay isOpen onOpenChange={(isOpen) => isOpen || onClose()} className="overlay">
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{t("links.create", { type: type.schema.displayName })}</Heading>
          {errors.get("")?.map((message) => (
            <p key={message} role="alert" className="field-error">
              {message}
            </p>
          ))}
          <Form value={form}>
            <Errors value={errors}>
              <Fields attributes={type.schema.attributes} values={values} path="" onChange={set} />
            </Errors>
          </Form>
          <div className="field-row">
            <Button className="button" isDisabled={isSaving} onPress={() => void save()}>
              {t("links.save")}
            </Button>
            <Button className="button" onPress={onClose}>
              {t("app.cancel")}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
