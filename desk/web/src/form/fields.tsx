// All fields of a document or a component. A change renders only the fields whose values it changes.
import { memo, useMemo, useRef } from "react";
import { type FieldProps, Form, useForm } from "./field.ts";
import { BlocksField } from "./fields/blocks.tsx";
import { BooleanField, EnumerationField } from "./fields/choice.tsx";
import { ComponentField } from "./fields/component.tsx";
import { ItemsField } from "./fields/items.tsx";
import { JSONField } from "./fields/json.tsx";
import { MediaField } from "./fields/media.tsx";
import { NumberField } from "./fields/number.tsx";
import { RelationField } from "./fields/relation.tsx";
import { RichTextField } from "./fields/richtext.tsx";
import { TextArea, TextField } from "./fields/text.tsx";
import { TimeField } from "./fields/time.tsx";
import { UIDField } from "./fields/uid.tsx";
import type { Attribute, Attributes, Values } from "./value.ts";

const fields: Record<string, (props: FieldProps) => React.ReactNode> = {
  string: TextField,
  text: TextArea,
  richtext: RichTextField,
  blocks: BlocksField,
  email: TextField,
  password: TextField,
  uid: UIDField,
  integer: NumberField,
  biginteger: NumberField,
  float: NumberField,
  decimal: NumberField,
  boolean: BooleanField,
  enumeration: EnumerationField,
  date: TimeField,
  time: TimeField,
  datetime: TimeField,
  timestamp: TimeField,
  json: JSONField,
  component: ComponentField,
  dynamiczone: ItemsField,
  relation: RelationField,
  media: MediaField,
};

// fieldFor returns the field of an attribute, or null if it has none. A custom field is edited as the type that it is
// based on, which its definition names.
function fieldFor(a: Attribute): ((props: FieldProps) => React.ReactNode) | null {
  return a.type === "component" && a.repeatable ? ItemsField : (fields[a.type] ?? null);
}

const Field = memo(function Field(props: FieldProps) {
  const form = useForm();
  const Inner = fieldFor(props.attribute);
  const isClosed = props.path === props.name && !form.isReadOnly && !(props.name in form.written);
  const closed = useMemo(() => (isClosed ? { ...form, isReadOnly: true } : form), [form, isClosed]);
  if (!Inner) return null;
  return isClosed ? (
    <Form value={closed}>
      <Inner {...props} />
    </Form>
  ) : (
    <Inner {...props} />
  );
});

interface FieldsProps {
  attributes: Attributes;
  values: Values;
  // path is the place of the values in the document, "" for the document itself.
  path: string;
  onChange: FieldProps["onChange"];
}

export function Fields({ attributes, values, path, onChange }: FieldsProps) {
  const latest = useRef(values);
  latest.current = values;
  const siblings = useRef(() => latest.current).current;
  return Object.entries(attributes).map(([name, attribute]) => (
    <Field
      key={name}
      name={name}
      path={path ? `${path}.${name}` : name}
      attribute={attribute}
      value={values[name]}
      onChange={onChange}
      siblings={siblings}
    />
  ));
}
