// A dialog that makes a document of a type, while one writes another that leads to it.
import { useCallback, useMemo, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type Change, changed, Errors, Form, type FormContext, useForm } from "../field.ts";
import { Fields } from "../fields.tsx";
import { type ContentType, toQuery } from "../query.ts";
import { bodyOf, defaults, errorsAt, isValues, type Values } from "../value.ts";

interface CreateDialogProps {
  type: ContentType;
  onClose: () => void;
  onCreated: (document: Values) => void;
}

export function CreateDialog({ type, onClose, onCreated }: CreateDialogProps) {
  const outer = useForm();
  const [values, setValues] = useState<Values>(() => defaults(type.attributes));
  const [errors, setErrors] = useState(new Map<string, string[]>());
  const [isSaving, setSaving] = useState(false);
  const form = useMemo(
    (): FormContext => ({
      ...outer,
      uid: type.uid,
      documentId: null,
      status: "draft",
      attributes: type.attributes,
      isReadOnly: false,
    }),
    [outer, type],
  );
  const set = useCallback(
    (name: string, change: Change) => setValues((old) => ({ ...old, [name]: changed(change, old[name]) })),
    [],
  );
  const save = async () => {
    setSaving(true);
    try {
      const query = toQuery({
        ...(type.hasDrafts ? { status: "draft" } : {}),
        ...(type.isLocalized && outer.locale ? { locale: outer.locale } : {}),
      });
      const data = bodyOf(type.attributes, outer.components, null, values);
      const answer = await outer.server.request("POST", `/${type.pluralName}?${query}`, { data });
      if (isValues(answer) && isValues(answer.data)) onCreated(answer.data);
    } catch (error) {
      setErrors(errorsOf(error));
      setSaving(false);
    }
  };
  return (
    <ModalOverlay isOpen onOpenChange={(isOpen) => isOpen || onClose()} className="overlay">
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{t("links.create", { type: type.name })}</Heading>
          {errors.get("")?.map((message) => (
            <p key={message} role="alert" className="field-error">
              {message}
            </p>
          ))}
          <Form value={form}>
            <Errors value={errors}>
              <Fields attributes={type.attributes} values={values} path="" onChange={set} />
            </Errors>
          </Form>
          <div className="field-row">
            <Button isDisabled={isSaving} onPress={() => void save()}>
              {t("links.save")}
            </Button>
            <Button onPress={onClose}>{t("action.cancel")}</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

// errorsOf returns the messages of a refused write by their field: those of the API's details, or else the one message.
function errorsOf(error: unknown): Map<string, string[]> {
  const details = isValues(error) && isValues(error.details) ? error.details.errors : null;
  if (Array.isArray(details) && details.length > 0) return errorsAt(details);
  return new Map([["", [error instanceof Error ? error.message : String(error)]]]);
}
