// A field for relations: the documents that they lead to, which people search, order, remove, and make in place.
import { memo, useEffect, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { isProjects } from "../../api/access.ts";
import { t } from "../../text/text.ts";
import { type FieldProps, labelOf, useForm } from "../field.ts";
import { addLink, type Link, type LinkEdit, linksAfter, moveLink, noEdit, removeLink } from "../links.ts";
import { labelAttribute } from "../query.ts";
import { linkOf, type Page } from "../server.ts";
import { isLinkEdit, isMany, isMorph, isValues, type Values } from "../value.ts";
import { Finder } from "./finder.tsx";
import { Frame, useFrame } from "./frame.tsx";
import { moved } from "../items.ts";
import { EntryButtons, type EntryButtonsProps, Sortable, useEntry } from "./sortable.tsx";

// A Links is what a list of links shows, and how it is changed, whatever the form of the value.
interface Links {
  list: Link[];
  // more reads the next page, unless all were read.
  more: (() => void) | null;
  total: number;
  add: (link: Link) => void;
  remove: (link: Link) => void;
  move: (link: Link, to: number) => void;
}

const keyOf = (link: Link) => `${link.type ?? ""} ${link.documentId}`;

export function RelationField(props: FieldProps) {
  // A list that the document was read with is in the value; of all others the value only has what is changed.
  return Array.isArray(props.value) || !isMany(props.attribute) || isMorph(props.attribute) ? (
    <ListedRelation {...props} />
  ) : (
    <PagedRelation {...props} />
  );
}

function ListedRelation(props: FieldProps) {
  const { server } = useForm();
  const { attribute, name, onChange, value } = props;
  const values = Array.isArray(value) ? (value as Values[]) : isValues(value) && "documentId" in value ? [value] : [];
  const typeOf = (type: string | undefined) => server.types[type ?? attribute.target ?? ""];
  const list = values.map((document) => {
    const type = isMorph(attribute) ? String(document.__type) : undefined;
    return linkOf(document, labelAttribute(typeOf(type)), type);
  });
  const valueOf = (link: Link) => ({
    [labelAttribute(typeOf(link.type))]: link.label,
    documentId: link.documentId,
    ...(link.type ? { __type: link.type } : {}),
  });
  const isSame = (document: Values, link: Link) =>
    document.documentId === link.documentId && (!link.type || document.__type === link.type);
  const set = (by: (old: Values[]) => Values[]) =>
    onChange(name, (old: unknown) => by(Array.isArray(old) ? (old as Values[]) : []));
  const many = isMany(attribute);
  const links: Links = {
    list,
    more: null,
    total: list.length,
    add: (link) =>
      many
        ? set((old) => (old.some((document) => isSame(document, link)) ? old : [...old, valueOf(link)]))
        : onChange(name, valueOf(link)),
    remove: (link) => (many ? set((old) => old.filter((document) => !isSame(document, link))) : onChange(name, null)),
    move: (link, to) =>
set((old) => moved(old, (document) => isSame(document, link), to)),
  };
  return <LinkList field={props} links={links} />;
}

function PagedRelation(props: FieldProps) {
  const { uid, documentId, locale, status, server } = useForm();
  const { attribute, name, onChange, value } = props;
  const [read, setRead] = useState<Page<Link>>({ items: [], total: 0 });
  const [isReading, setReading] = useState(false);
  const type = server.types[uid];

  const next = async (from: Link[]) => {
    if (!type || documentId === null) return;
    setReading(true);
    try {
      const page = await server.links({ type, documentId, status, locale, name, attribute }, from.length);
      setRead({ items: [...from, ...page.items], total: page.total });
    } finally {
      setReading(false);
    }
  };
  // What was read is read again when the value is that of the server again, as after a save.
  const isEdited = isLinkEdit(value);
  useEffect(() => {
    if (!isEdited || read.items.length === 0) void next([]);
  }, [documentId, locale, status, isEdited, value === undefined]);

  const edit: LinkEdit = isLinkEdit(value) ? value : noEdit;
  const change = (by: (old: LinkEdit) => LinkEdit) =>
    onChange(name, (old: unknown) => by(isLinkEdit(old) ? old : noEdit));
  const readAll = read.items.length >= read.total;
  const known = new Set(read.items.map(keyOf));
  const added = edit.connect.filter((link) => !known.has(keyOf(link))).length;
  const links: Links = {
    list: linksAfter(read.items, edit),
    more: readAll || isReading ? null : () => void next(read.items),
    total: read.total + added - edit.disconnect.length,
    add: (link) => change((old) => addLink(read.items, old, link)),
    remove: (link) => change((old) => removeLink(read.items, old, link)),
    move: (link, to) => change((old) => moveLink(read.items, old, link, to)),
  };
  return <LinkList field={props} links={links} />;
}

function LinkList({ field, links }: { field: FieldProps; links: Links }) {
  const { server, isReadOnly } = useForm();
  const { attribute } = field;
  const parts = useFrame(field);
  const many = isMany(attribute);
  const names = useMemo(() => links.list.map(keyOf), [links.list.map(keyOf).join("\n")]);
  const linkAt = (key: string) => links.list.find((link) => keyOf(link) === key);
  const targets = isMorph(attribute)
    ? Object.values(server.types).filter((type) => "find" in type.actions && isProjects(type))
    : [server.types[attribute.target ?? ""]].filter((type) => type !== undefined);
  return (
    <Frame
      field={field}
      parts={parts}
      isGroup
      beside={many && <span className="field-count">{t("links.count", { n: links.total })}</span>}
    >
      <Sortable
        names={names}
        label={(key) => linkAt(key)?.label ?? ""}
        onMove={(key, to) => {
          const link = linkAt(key);
          if (link) links.move(link, to);
        }}
      >
        <ul className="links">
          {links.list.map((link, index) => (
            <LinkRow
              key={keyOf(link)}
              link={link}
              target={link.type ?? attribute.target ?? ""}
              isSorted={many && !isReadOnly}
              isReadOnly={isReadOnly}
              isFirst={index === 0}
              isLast={index === links.list.length - 1}
              onMove={(by) => links.move(link, index + by)}
              onRemove={() => links.remove(link)}
            />
          ))}
        </ul>
      </Sortable>
      {links.more && (
        <Button className="button" onPress={links.more}>
          {t("links.more", { n: links.list.length, total: links.total })}
        </Button>
      )}
      {!isReadOnly &&
        targets.map((type) => (
          <Finder
            key={type.uid}
            type={type}
            label={
              isMorph(attribute)
                ? t("links.findOf", { name: labelOf(field.name), type: type.schema.displayName })
                : t("links.find", { name: labelOf(field.name) })
            }
            describedBy={parts.describedBy}
            onPick={(link) => links.add(isMorph(attribute) ? { ...link, type: type.uid } : link)}
          />
        ))}
    </Frame>
  );
}

interface LinkRowProps extends Omit<EntryButtonsProps, "name"> {
  link: Link;
  target: string;
}

const LinkRow = memo(function LinkRow(props: LinkRowProps) {
  const { link, target, isSorted } = props;
  const { hrefOf, server } = useForm();
  const entry = useEntry(keyOf(link), link.label);
  return (
    <li ref={entry.ref} className="link" style={entry.style}>
      {isSorted && entry.handle}
      <a href={hrefOf(target, link.documentId)} target="_blank" rel="noopener">
        {link.label}
      </a>
      {link.type && <span className="link-type">{server.types[link.type]?.schema.displayName ?? link.type}</span>}
      <EntryButtons {...props} name={link.label} />
    </li>
  );
});
