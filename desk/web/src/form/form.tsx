// The form of a document: its fields, with what they know of the document and the errors of the last save.
import { type FieldProps, Errors, Form, type FormContext } from "./field.ts";
import { Fields } from "./fields.tsx";
import type { Values } from "./value.ts";
import "./form.css";

interface DocumentFormProps {
  form: FormContext;
  values: Values;
  errors: Map<string, string[]>;
  // onChange must stay the same while the form is open: see FieldProps.
  onChange: FieldProps["onChange"];
}

export function DocumentForm({ form, values, errors, onChange }: DocumentFormProps) {
  return (
    <Form value={form}>
      <Errors value={errors}>
        <Fields attributes={form.attributes} values={values} path="" onChange={onChange} />
      </Errors>
    </Form>
  );
}
