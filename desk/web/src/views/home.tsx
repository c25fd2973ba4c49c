// The first view: what the reader may work on.
import { type Access, isProjects } from "../api/access.ts";
import { t } from "../text/text.ts";
import { PlaceLink } from "../ui/link.tsx";

export function Home({ access }: { access: Access }) {
  const types = access.contentTypes.filter((type) => isProjects(type) && "find" in type.actions);
  return (
    <>
      <h1>{t("home.title", { name: access.principal.name ?? "" })}</h1>
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
