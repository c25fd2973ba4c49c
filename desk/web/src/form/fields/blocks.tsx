import { useCallback, useState } from "react";
import type { Json, JsonObject } from "../../blocks/mapper.ts";
import { type FieldProps, useForm } from "../field.ts";
import type { FileValue } from "../../files/library.ts";
import { FilePicker } from "./picker.tsx";
import { chunk } from "../../ui/chunk.tsx";
import { Frame, useFrame } from "./frame.tsx";
import { WhenSeen } from "./seen.tsx";

const BlocksEditor = chunk(() => import("../../blocks/editor.tsx"));

// The keys of a file that the format has for an image.
const imageKeys = [
  "name",
  "alternativeText",
  "url",
  "caption",
  "width",
  "height",
  "formats",
  "hash",
  "ext",
  "mime",
  "size",
  "previewUrl",
  "provider",
  "provider_metadata",
  "createdAt",
  "updatedAt",
];

// BlocksField edits a text of blocks.
export function BlocksField(props: FieldProps) {
  const { isReadOnly, fileURL } = useForm();
  const { name, onChange } = props;
  const parts = useFrame(props);
  const [ask, setAsk] = useState<{ answer: (file: JsonObject | null) => void } | null>(null);
  const pickImage = useCallback(() => new Promise<JsonObject | null>((answer) => setAsk({ answer })), []);
  const finish = (file: FileValue | null) => {
    ask?.answer(file && (Object.fromEntries(imageKeys.map((key) => [key, file[key] ?? null])) as JsonObject));
    setAsk(null);
  };
  return (
    <Frame field={props} parts={parts} isGroup>
      <WhenSeen labelledBy={parts.labelId}>
        <BlocksEditor
          fallback={<div className="field-unseen" />}
          value={props.value as Json | undefined}
          onChange={(value) => onChange(name, value)}
          labelledBy={parts.labelId}
          describedBy={parts.describedBy}
          isInvalid={parts.isInvalid}
          isReadOnly={isReadOnly}
          pickImage={pickImage}
          fileURL={fileURL}
        />
      </WhenSeen>
      {ask && (
        <FilePicker
          kinds={["images"]}
          isMany={false}
          onClose={() => finish(null)}
          onPick={([file]) => finish(file ?? null)}
        />
      )}
    </Frame>
  );
}
