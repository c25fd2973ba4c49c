// What is around every view: the navigation, and which view an address shows.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { type Access, type ContentType, isProjects, isSingle, useAccess } from "../api/access.ts";
import { session } from "../api/session.ts";
import { go, type Place, usePlace } from "../place.ts";
import { t } from "../text/text.ts";
import { chunk } from "../ui/chunk.tsx";
import { PlaceLink } from "../ui/link.tsx";
import { Problem, Waiting } from "../ui/states.tsx";
import { areas } from "./areas.ts";
import { Home } from "./home.tsx";
import { List } from "./list/list.tsx";

const Edit = chunk(async () => ({ default: (await import("./edit/edit.tsx")).Edit }));

export function Shell() {
  const { data: access, error, refetch } = useAccess();
  const place = usePlace();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  if (!access) return error ? <Problem error={error} retry={() => void refetch()} /> : <Waiting />;

  const logout = async () => {
    try {
      await session.logout();
      queries.clear();
      location.assign(document.baseURI);
    } catch (err) {
      setProblem(err);
    }
  };
  return (
    <div className="shell">
      <a className="skip" href="#content">{t("app.skip")}</a>
      <header className="top">
        <Button className="button menu" aria-expanded={open} onPress={() => setOpen(!open)}>{t("app.menu")}</Button>
        <PlaceLink to={[]} className="brand">{t("app.name")}</PlaceLink>
        <span className="quiet">{access.principal.name}</span>
        <Button className="button quiet" onPress={() => void logout()}>{t("app.logout")}</Button>
      </header>
      <nav className={open ? "side open" : "side"} aria-label={t("app.types")} onClick={() => setOpen(false)}>
        <Types access={access} place={place} />
        <Areas access={access} place={place} />
      </nav>
      <main id="content" tabIndex={-1}>
        {problem !== null && <Problem error={problem} />}
        <View access={access} place={place} />
      </main>
    </div>
  );
}

function Types({ access, place }: { access: Access; place: Place }) {
  const types = access.contentTypes.filter((type) => isProjects(type) && "find" in type.actions);
  if (types.length === 0) return <p className="quiet">{t("app.none")}</p>;
  const entry = (type: ContentType) => (
    <li key={type.uid}>
      <PlaceLink to={["content", type.apiID]} aria-current={place.path[0] === "content" && place.path[1] === type.apiID ? "page" : undefined}>
        {type.schema.displayName}
      </PlaceLink>
    </li>
  );
  const singles = types.filter(isSingle);
  return (
    <>
      <h2>{t("app.types")}</h2>
      <ul>{types.filter((type) => !isSingle(type)).map(entry)}</ul>
      {singles.length > 0 && <h2>{t("app.singles")}</h2>}
      <ul>{singles.map(entry)}</ul>
    </>
  );
}

function Areas({ access, place }: { access: Access; place: Place }) {
  const usable = areas.filter((area) => area.mayUse(access));
  return (
    usable.length > 0 && (
      <>
        <h2>{t("app.areas")}</h2>
        <ul>
          {usable.map(({ name, title }) => (
            <li key={name}>
              <PlaceLink to={[name]} aria-current={place.path[0] === name ? "page" : undefined}>{t(title)}</PlaceLink>
            </li>
          ))}
        </ul>
      </>
    )
  );
}

function View({ access, place }: { access: Access; place: Place }) {
  const [name, apiID, document] = place.path;
  if (name === undefined) return <Home access={access} />;
  const area = areas.find((candidate) => candidate.name === name && candidate.mayUse(access));
  if (area) return <area.View fallback={<Waiting />} access={access} place={place} />;
  const type = access.contentTypes.find((candidate) => candidate.apiID === apiID);
  if (name !== "content" || !type) return <p className="problem">{t("app.notFound")}</p>;
  if (document !== undefined || isSingle(type)) {
    const id = document === undefined || document === "new" ? null : document;
    const form = `${place.query.get("locale")} ${place.query.get("form")}`;
    return <Edit fallback={<Waiting />} key={`${type.uid} ${id} ${form}`} access={access} type={type} place={place} documentId={id} />;
  }
  return <List key={type.uid} access={access} type={type} place={place} onQuery={(query) => go(place.path, query, true)} />;
}
