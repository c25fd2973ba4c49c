// What is beside the form of a document: what it was, what of it is published, and what it is in another language.
import { type Access, type ContentType, isLocalized, isSingle, readsDrafts } from "../../api/access.ts";
import type { FormContext } from "../../form/field.ts";
import { go, type Place } from "../../place.ts";
import { t } from "../../text/text.ts";
import { PlaceLink } from "../../ui/link.tsx";
import type { Open } from "../edit/document.ts";
import { hasPreview, Preview } from "../edit/preview.tsx";
import { aroundOf } from "./read.ts";
import { Language } from "./language.tsx";
import { Past } from "./past.tsx";
import { Published } from "./published.tsx";
import "./history.css";

export interface LookProps {
  access: Access;
  type: ContentType;
  form: FormContext;
  open: Open;
  locale: string;
}

// Look shows what the parameter look of the address names: "history", "published", or a language.
export function Look({ place, ...props }: LookProps & { place: Place }) {
  const { access, type, open, locale } = props;
  const around = aroundOf(access, type, open.documentId);
  const choices: [string, string][] = [];
  if (hasPreview(type) && !open.isNew) choices.push(["preview", t("write.preview")]);
  if ("history" in type.actions) choices.push(["history", t("history.title")]);
  if (readsDrafts(access, type) && !open.isNew) choices.push(["published", t("history.published")]);
  if (isLocalized(type)) {
    for (const code of access.locales) if (code !== locale) choices.push([`in-${code}`, t("history.language", { locale: code })]);
  }
  const asked = place.query.get("look") ?? "";
  const look = choices.some(([name]) => name === asked) ? asked : (choices[0]?.[0] ?? "");
  const to = (name: string | null) => {
    const query = new URLSearchParams(place.query);
    if (name === null) query.delete("look");
    else query.set("look", name);
    return query;
  };
  if (open.documentId === null && !isSingle(type)) return null;
  return (
    <aside className="look" aria-label={t("history.look")}>
      <div className="row">
        <select aria-label={t("history.look")} value={look} onChange={(event) => go(place.path, to(event.target.value), true)}>
          {choices.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
        </select>
        <PlaceLink className="button" to={place.path} query={to(null)}>{t("history.close")}</PlaceLink>
      </div>
      {look === "preview" && <Preview type={type} open={open} locale={locale} />}
      {look === "history" && <Past key={locale} {...props} around={around} />}
      {look === "published" && <Published {...props} around={around} />}
      {look.startsWith("in-") && <Language key={look} {...props} around={around} from={look.slice(3)} />}
    </aside>
  );
}
