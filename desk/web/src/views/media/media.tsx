// The media library: its files, found and sorted; uploads; and what one says of files.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { ask, type Request } from "../../api/client.ts";
import { Uploads, UploadButton, useUploads } from "../../files/uploads.tsx";
import { go } from "../../place.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import type { AreaProps } from "../areas.ts";
import { Details } from "./details.tsx";
import { Grid } from "./grid.tsx";
import "./media.css";
import { kinds, type MediaState, type Order, orders, queryOf, requestOf, stateOf } from "./state.ts";
import { Texts } from "./texts.tsx";

// uploads go on while another view is shown.
const uploads = new Uploads();

export default function Media({ access, place }: AreaProps) {
  const may = (action: string) => access.permissions.includes(`plugin::upload.content-api.${action}`);
  const state = useMemo(() => stateOf(place.query, may("findUsage")), [place.query, access]);
  const queries = useQueryClient();
  const change = (part: Partial<MediaState>) => go(place.path, queryOf({ ...state, ...part }), true);
  const refresh = () => void queries.invalidateQueries({ queryKey: ["files"] });
  const { start, list } = useUploads(undefined, refresh, uploads);
  const request: Request = { path: "upload/files", query: requestOf(state) };
  const { sort: _, ...counted } = requestOf(state);
  const count = useQuery({
    queryKey: ["files", "count", counted],
    queryFn: async ({ signal }) => (await ask<number>({ path: "upload/files/count", query: counted, signal })).body,
  });
  const total = count.data ?? 0;
  const isDropped = useDrop(may("upload") && state.file === null ? start : null);

  return (
    <section className="media" aria-label={t("files.title")} data-dropping={isDropped || undefined}>
      <header className="row">
        <h1>{t("files.title")}</h1>
        <span className="quiet" role="status">
          {count.data === undefined || state.texts ? "" : total === 1 ? t("files.countOne") : t("files.count", { n: total })}
        </span>
        <CopyCurl request={request} />
        {may("upload") && (
          <Button className="button" onPress={() => change({ texts: !state.texts })}>
            {t(state.texts ? "files.grid" : "files.texts")}
          </Button>
        )}
        {may("upload") && <UploadButton kinds={undefined} isMany onFiles={start} />}
      </header>
      {list}
      {state.texts ? (
        <Texts key={state.search} search={state.search} />
      ) : (
        <>
          <Tools state={state} mayFindUsage={may("findUsage")} onChange={change} />
          {count.error && <Problem error={count.error} retry={refresh} />}
          {count.data === undefined && !count.error && <Waiting />}
          {count.data === 0 && (
            <p className="quiet">
              {t(state.search || state.kind || state.unused ? "files.noMatch" : "files.none")} {may("upload") && t("files.drop")}
            </p>
          )}
          {total > 0 && <Grid request={request} total={total} query={(file) => queryOf({ ...state, file })} path={place.path} />}
        </>
      )}
      {state.file !== null && (
        <Details key={state.file} id={state.file} access={access} may={may} onClose={() => change({ file: null })} onChanged={refresh} />
      )}
    </section>
  );
}

interface ToolsProps {
  state: MediaState;
  mayFindUsage: boolean;
  onChange: (part: Partial<MediaState>) => void;
}

function Tools({ state, mayFindUsage, onChange }: ToolsProps) {
  const [text, setText] = useState(state.search);
  useEffect(() => setText(state.search), [state.search]);
  const latest = useRef(onChange); // what else was chosen while one typed stays
  latest.current = onChange;
  useEffect(() => {
    if (text === state.search) return;
    const timer = setTimeout(() => latest.current({ search: text }), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="row tools">
      <input type="search" aria-label={t("files.search")} placeholder={t("files.search")} value={text} onChange={(event) => setText(event.target.value)} />
      <select aria-label={t("files.kind")} value={state.kind} onChange={(event) => onChange({ kind: event.target.value as MediaState["kind"] })}>
        <option value="">{t("files.kind.all")}</option>
        {kinds.map((kind) => <option key={kind} value={kind}>{t(`files.kind.${kind}`)}</option>)}
      </select>
      <select aria-label={t("files.sort")} value={state.order} onChange={(event) => onChange({ order: event.target.value as Order })}>
        {Object.keys(orders).map((order) => <option key={order} value={order}>{t(`files.sort.${order as Order}`)}</option>)}
      </select>
      {mayFindUsage && (
        <label className="checkbox">
          <input type="checkbox" checked={state.unused} onChange={(event) => onChange({ unused: event.target.checked })} />
          {t("files.unused")}
        </label>
      )}
    </div>
  );
}

// useDrop takes files that are dropped anywhere on the page, and reports whether some are over it. Without onFiles the
// browser does what it does.
function useDrop(onFiles: ((files: File[]) => void) | null): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    if (!onFiles) return;
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      setOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      onFiles(files);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  });
  return isOver;
}
