// The published version beside the form, with what differs in what the form holds.
import { adopted, counted, differences } from "../../compare/values.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { Differences, OnlyCounted } from "./differences.tsx";
import type { LookProps } from "./look.tsx";
import { type Around, formValues, useVersion, versionRequest } from "./read.ts";

export function Published({ form, open, locale, around }: LookProps & { around: Around }) {
  const request = versionRequest(around, { locale, status: "published" }, open.base);
  const stamp = `${open.base.updatedAt} ${open.base.publishedAt} ${open.state}`;
  const published = useVersion(request, stamp);
  const saved = useVersion(versionRequest(around, { locale, status: "draft" }, open.base), stamp);
  const error = published.error ?? saved.error;
  if (error) return <Problem error={error} retry={() => void (published.refetch(), saved.refetch())} />;
  if (published.data === undefined || saved.data === undefined) return <Waiting />;
  if (published.data === null) return <p>{t("history.notPublished")}</p>;
  const version = published.data;
  const attributes = around.type.schema.attributes;
  const held = formValues(around, saved.data ?? {}, open.values);
  const fields = differences(attributes, around, version, held);
  return (
    <>
      <p>{fields.length === 0 ? t("history.asPublished") : t("history.sincePublished")}</p>
      <Differences
        fields={fields}
        componentName={form.componentName}
        take={{
          label: t("history.takePublished"),
          mayTake: (name) => !form.isReadOnly && name in form.written && attributes[name] !== undefined,
          onTake: (name) => open.set(name, adopted(attributes[name]!, around.components, version[name])),
        }}
      />
      <OnlyCounted names={counted(attributes, version, held)} />
      <div className="row"><CopyCurl request={request} /></div>
    </>
  );
}
