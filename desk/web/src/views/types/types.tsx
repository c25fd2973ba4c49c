// The types of the project: a drawing of them, the same as a list, and of each how to read and write it.
import type { Access, Attribute, Component, ContentType } from "../../api/access.ts";
import { isProjects } from "../../api/access.ts";
import { go } from "../../place.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import type { AreaProps } from "../areas.ts";
import { boxWidth, draw, headHeight, rowHeight } from "./layout.ts";
import { boxesOf, kindOf, targetsOf } from "./model.ts";
import { Reference } from "./reference.tsx";
import "./types.css";

export default function Types({ access, place }: AreaProps) {
  const name = place.path[1];
  if (name === undefined) return <All access={access} />;
  const type = access.contentTypes.find((candidate) => candidate.apiID === name && isProjects(candidate));
  if (!type) return <p className="problem">{t("app.notFound")}</p>;
  return (
    <section className="column types">
      <header className="row">
        <h1>{type.schema.displayName}</h1>
        <PlaceLink to={["types"]}>{t("types.all")}</PlaceLink>
      </header>
      <p>
        <code>{type.uid}</code> <span className="quiet">{factsOf(type)}</span>
      </p>
      <Attributes access={access} of={type} />
      <Reference key={type.uid} access={access} type={type} />
    </section>
  );
}

function All({ access }: { access: Access }) {
  const types = access.contentTypes.filter(isProjects);
  return (
    <section className="column types">
      <header className="row">
        <h1>{t("types.title")}</h1>
        <CopyCurl request={{ path: "_access" }} />
      </header>
      <Picture access={access} />
      {types.map((type) => (
        <section key={type.uid} className="card" aria-labelledby={type.apiID}>
          <h2 id={type.apiID}>
            <PlaceLink to={["types", type.apiID]}>{type.schema.displayName}</PlaceLink>
          </h2>
          <p>
            <code>{type.uid}</code> <span className="quiet">{factsOf(type)}</span>
          </p>
          <Attributes access={access} of={type} />
        </section>
      ))}
      {access.components.length > 0 && <h2>{t("types.components")}</h2>}
      {access.components.map((component) => (
        <section key={component.uid} className="card" aria-label={component.schema.displayName}>
          <h3>{component.schema.displayName}</h3>
          <p><code>{component.uid}</code></p>
          <Attributes access={access} of={component} />
        </section>
      ))}
    </section>
  );
}

function factsOf(type: ContentType): string {
  const { kind, draftAndPublish, pluginOptions } = type.schema;
  return [t(kind === "singleType" ? "types.single" : "types.collection"), draftAndPublish && t("types.drafts"), pluginOptions?.i18n?.localized && t("types.localized")]
    .filter(Boolean).join(", ");
}

// Picture draws the types. It is for the eye: the list below says the same.
function Picture({ access }: { access: Access }) {
  const { boxes, lines, width, height } = draw(boxesOf(access));
  const typeOf = (id: string) => access.contentTypes.find((type) => type.uid === id && isProjects(type));
  return (
    <div className="picture" tabIndex={0} role="region" aria-label={t("types.picture")}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
            <path d="M0 0L8 4L0 8z" className="arrow" />
          </marker>
        </defs>
        {lines.map((line) => (
          <path key={line.path} d={line.path} className={line.dashed ? "line dashed" : "line"} markerEnd="url(#arrow)" />
        ))}
        {boxes.map((box) => {
          const type = typeOf(box.id);
          return (
            <g
              key={box.id}
              transform={`translate(${box.x} ${box.y})`}
              className={type ? "box own" : "box"}
              onClick={type && (() => go(["types", type.apiID]))}
            >
              <rect width={boxWidth} height={box.height} rx="6" />
              <text x="10" y={headHeight / 2 + 5} className="title">{cut(box.title, 28)}</text>
              <path d={`M0 ${headHeight}H${boxWidth}`} />
              {box.rows.map((row, index) => (
                <g key={row.name} transform={`translate(0 ${headHeight + index * rowHeight + 14})`}>
                  <text x="10">{cut(row.name, 20)}</text>
                  <text x={boxWidth - 10} textAnchor="end" className="kind">{cut(row.kind, 14)}</text>
                </g>
              ))}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function Attributes({ access, of }: { access: Access; of: ContentType | Component }) {
  return (
    <ul className="attributes">
      {Object.entries(of.schema.attributes).map(([name, attribute]) => (
        <li key={name}>
          <code>{name}</code> <span className="quiet">{kindOf(attribute)}</span>
          <Targets access={access} attribute={attribute} />
          {marksOf(attribute) && <span className="quiet"> {marksOf(attribute)}</span>}
        </li>
      ))}
    </ul>
  );
}

function Targets({ access, attribute }: { access: Access; attribute: Attribute }) {
  return targetsOf(attribute).map((uid) => {
    const type = access.contentTypes.find((candidate) => candidate.uid === uid);
    const title = type?.schema.displayName ?? access.components.find((component) => component.uid === uid)?.schema.displayName ?? uid;
    return <span key={uid}>{" "}{type && isProjects(type) ? <PlaceLink to={["types", type.apiID]}>{title}</PlaceLink> : title}</span>;
  });
}

function marksOf(attribute: Attribute): string {
  const { required, unique, readable, min, max, minLength, maxLength } = attribute;
  const within = (low: unknown, high: unknown) => [low !== undefined && `≥ ${String(low)}`, high !== undefined && `≤ ${String(high)}`].filter(Boolean).join(", ");
  return [required && t("types.required"), unique && t("types.unique"), !readable && t("types.writeOnly"), within(min, max), within(minLength, maxLength),
    attribute.enum?.join(" | ")].filter(Boolean).join(", ");
}

