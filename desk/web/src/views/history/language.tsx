// The document in another language beside the form, to write one from the other.
import { Button } from "react-aria-components";
import { adopted, contents } from "../../compare/values.ts";
import { isShared } from "../../form/field.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { Differences } from "./differences.tsx";
import type { LookProps } from "./look.tsx";
import { type Around, useVersion, versionRequest } from "./read.ts";

export function Language({ form, open, around, from }: LookProps & { around: Around; from: string }) {
  const { attributes } = form;
  const status = around.type.schema.draftAndPublish ? form.status : undefined;
  const request = versionRequest(around, { locale: from, status }, open.base);
  const { data: version, error, refetch } = useVersion(request, open.base.updatedAt);
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (version === undefined) return <Waiting />;
  if (version === null) return <p>{t("history.noLanguage", { locale: from })}</p>;
  const shared = (name: string) => attributes[name] !== undefined && isShared(attributes[name]);
  const mayTake = (name: string) => !form.isReadOnly && name in form.written && !shared(name);
  const take = (name: string) => open.set(name, adopted(attributes[name]!, around.components, version[name]));
  const fields = contents(attributes, around, version);
  return (
    <>
      <div className="row">
        {!form.isReadOnly && (
          <Button className="button" onPress={() => fields.filter(({ name }) => mayTake(name)).forEach(({ name }) => take(name))}>
            {t("history.fill", { locale: from })}
          </Button>
        )}
        <CopyCurl request={request} />
      </div>
      <p className="quiet">{t("history.fillHint")}</p>
      <div className="plain" lang={from}>
        <Differences
          fields={fields}
          componentName={form.componentName}
          notes={(name) => (shared(name) ? t("history.shared") : "")}
          take={{ label: t("history.take"), mayTake, onTake: take }}
        />
      </div>
    </>
  );
}
