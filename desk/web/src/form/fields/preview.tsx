import { useMemo } from "react";
import { t } from "../../text/text.ts";
import { markdownHTML } from "./markdown.ts";

export default function Preview({ text }: { text: string }) {
  const html = useMemo(() => markdownHTML(text), [text]);
  return (
    <div
      className="field-preview"
      role="region"
      aria-label={t("field.preview")}
      tabIndex={0}
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}
