// The first view: what the reader has typed and not saved, and what they may work on.
import { useQuery } from "@tanstack/react-query";
import { type Access, type ContentType, isProjects, isSingle, mainAttribute } from "../api/access.ts";
import { parse } from "../api/exact.ts";
import { type Kept, userOf } from "../keep/drafts.ts";
import { drafts } from "../keep/kept.ts";
import { language, t } from "../text/text.ts";
import { PlaceLink } from "../ui/link.tsx";

export function Home({ access }: { access: Access }) {
  const types = access.contentTypes.filter((type) => isProjects(type) && "find" in type.actions);
  const { data: unsaved = [] } = useQuery({ queryKey: ["unsaved"], queryFn: () => drafts.of(userOf(access)), staleTime: 0, gcTime: 0 });
  const typeOf = (kept: Kept) => access.contentTypes.find((type) => type.uid === kept.uid);
  return (
    <>
      <h1>{t("home.title", { name: access.principal.name ?? "" })}</h1>
      {unsaved.length > 0 && (
        <section aria-labelledby="unsaved">
          <h2 id="unsaved">{t("home.unsaved")}</h2>
          <ul>
            {unsaved.map((kept) => {
              const type = typeOf(kept);
              return type && (
                <li key={`${kept.uid} ${kept.documentId} ${kept.locale} ${kept.form}`}>
                  <PlaceLink to={pathTo(type, kept)} query={queryTo(kept)}>{nameOf(type, kept)}</PlaceLink>{" "}
                  <span className="quiet">{type.schema.displayName}, {new Date(kept.changedAt).toLocaleString(language)}</span>
                </li>
              );
            })}
          </ul>
        </section>
      )}
      <ul className="cards">
        {types.map((type) => (
          <li key={type.uid}>
            <PlaceLink className="card" to={["content", type.apiID]}>{type.schema.displayName}</PlaceLink>
          </li>
        ))}
      </ul>
      <p className="quiet">{t("home.version", { version: access.version })}</p>
    </>
  );
}

function pathTo(type: ContentType, kept: Kept): string[] {
  if (isSingle(type)) return ["content", type.apiID];
  return ["content", type.apiID, kept.documentId || "new"];
}

function queryTo(kept: Kept): URLSearchParams {
  return new URLSearchParams({ ...(kept.form ? { form: kept.form } : {}), ...(kept.locale ? { locale: kept.locale } : {}) });
}

function nameOf(type: ContentType, kept: Kept): string {
  const main = mainAttribute(type);
  const values = parse(kept.values) as Record<string, unknown>;
  const name = main === null ? undefined : values[main];
  return typeof name === "string" && name !== "" ? name : kept.documentId || t("edit.new", { type: type.schema.displayName });
}
