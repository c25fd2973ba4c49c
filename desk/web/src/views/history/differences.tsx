// How two versions differ, as people read it: what is gone is struck out, and what is new is underlined.
import { type ReactNode, useMemo } from "react";
import { Button } from "react-aria-components";
import { isExact, numberText } from "../../api/exact.ts";
import type { Row } from "../../compare/align.ts";
import type { EntryRow, FieldDifference, LinkShown } from "../../compare/values.ts";
import { folded, wordParts } from "../../compare/words.ts";
import { labelOf } from "../../form/field.ts";
import { summaryOf } from "../../form/items.ts";
import { language, t } from "../../text/text.ts";

interface DifferencesProps {
  fields: FieldDifference[];
  componentName: (uid: string) => string;
  take?: { label: string; mayTake: (name: string) => boolean; onTake: (name: string) => void };
  notes?: (name: string) => string; // beside the label of a field
}

export function Differences({ fields, componentName, take, notes }: DifferencesProps) {
  return fields.map(({ name, attribute, is }) => {
    const note = notes?.(name) ?? "";
    return (
      <section key={name} className="difference" aria-label={labelOf(name)}>
        <div className="row">
          <strong>{labelOf(name)}</strong>
          {note && <span className="quiet">{note}</span>}
          {take?.mayTake(name) && is.kind !== "counts" && (
            <Button className="button take" onPress={() => take.onTake(name)} aria-label={`${take.label}: ${labelOf(name)}`}>
              {take.label}
            </Button>
          )}
        </div>
        <Shown type={attribute.type} is={is} componentName={componentName} />
      </section>
    );
  });
}

// OnlyCounted says of which attributes the number of links was compared, and not the documents that they lead to.
export function OnlyCounted({ names }: { names: string[] }) {
  return names.length > 0 && <p className="quiet">{t("history.counted", { names: names.map(labelOf).join(", ") })}</p>;
}

interface ShownProps {
  type: string;
  is: FieldDifference["is"];
  componentName: (uid: string) => string;
}

function Shown({ type, is, componentName }: ShownProps) {
  switch (is.kind) {
    case "text":
      return <Words before={is.before} after={is.after} />;
    case "scalar":
      return (
        <p className="words">
          {is.before !== null && <><del>{scalarText(type, is.before)}</del> </>}{is.after !== null && <ins>{scalarText(type, is.after)}</ins>}
          {is.after === null && <em className="quiet"> {t("edit.empty")}</em>}
        </p>
      );
    case "counts":
      return <p className="words"><del>{t("links.count", { n: is.before })}</del> <ins>{t("links.count", { n: is.after })}</ins></p>;
    case "links":
      return <LinkRows rows={is.rows} />;
    case "entries":
      return <Entries rows={is.rows} componentName={componentName} />;
  }
}

function Words({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => folded(wordParts(before, after)), [before, after]);
  return (
    <p className="words">
      {parts.map((part, i) => {
        if (part === null) return <span key={i} className="quiet" title={t("history.same")}> … </span>;
        if (part.side === "both") return <span key={i}>{part.text}</span>;
        return part.side === "before" ? <del key={i}>{part.text}</del> : <ins key={i}>{part.text}</ins>;
      })}
      {after === "" && <em className="quiet"> {t("edit.empty")}</em>}
    </p>
  );
}

function scalarText(type: string, value: unknown): string {
  if (typeof value === "boolean") return t(value ? "edit.yes" : "edit.no");
  if (typeof value === "number" || isExact(value)) return numberText(value);
  if (type === "datetime" || type === "timestamp") {
    const at = new Date(String(value));
    if (!Number.isNaN(at.getTime())) return at.toLocaleString(language);
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

// withSame returns the rows that differ, with the number of those between them that do not.
function withSame<T extends Row<unknown>>(rows: T[], differs: (row: T) => boolean, show: (row: T, i: number) => ReactNode): ReactNode[] {
  const out: ReactNode[] = [];
  let same = 0;
  const close = (i: number) => {
    if (same > 0) out.push(<li key={`same-${i}`} className="quiet">{t(same === 1 ? "history.sameOne" : "history.sameMany", { n: same })}</li>);
    same = 0;
  };
  rows.forEach((row, i) => {
    if (!differs(row)) return void same++;
    close(i);
    out.push(show(row, i));
  });
  close(rows.length);
  return out;
}

function LinkRows({ rows }: { rows: Row<LinkShown>[] }) {
  return (
    <ul className="entries">
      {withSame(rows, (row) => !row.before || !row.after || row.isMoved, (row, i) => (
        <li key={i}>
          {!row.before ? <ins>{row.after?.label}</ins> : !row.after ? <del>{row.before.label}</del> : <>{row.after.label} <Sign row={row} /></>}
        </li>
      ))}
    </ul>
  );
}

function Sign({ row }: { row: Row<unknown> }) {
  const key = !row.before ? "history.added" : !row.after ? "history.removed" : row.isMoved ? "history.moved" : null;
  return key && <span className={`sign ${!row.before ? "new" : !row.after ? "gone" : ""}`}>{t(key)}</span>;
}

// summary tells an entry of which nothing else is shown from others.
function summary({ before, after }: EntryRow): string {
  const item = after ?? before ?? {};
  return summaryOf(item, Object.keys(item).filter((name) => !name.startsWith("__")));
}

function Entries({ rows, componentName }: { rows: EntryRow[]; componentName: (uid: string) => string }) {
  return (
    <ul className="entries">
      {withSame(rows, (row) => !row.before || !row.after || row.isMoved || row.fields.length > 0, (row, i) => (
        <li key={i} className="entry">
          <div className="row"><strong>{componentName(row.component)}</strong> <Sign row={row} />{row.fields.length === 0 && <span className="quiet">{summary(row)}</span>}</div>
          <Differences fields={row.fields} componentName={componentName} />
        </li>
      ))}
    </ul>
  );
}
