// Who else has the document open. The form says every quarter of a minute that it is there, and the answer says who else
// is. A page that is not in view says so only while it has something that is not saved.
import { useEffect, useRef, useState } from "react";
import { type ContentType, isLocalized } from "../../api/access.ts";
import { ask, Failure, isRefusal, type Request } from "../../api/client.ts";
import { t } from "../../text/text.ts";

interface Visit {
  by: { kind: string; name: string | null };
  since: string;
  unsaved: boolean;
}

interface OthersProps {
  type: ContentType;
  documentId: string;
  locale: string;
  unsaved: boolean; // the form has something that is not saved
}

const pause = 15_000; // milliseconds

export function Others(props: OthersProps) {
  const others = useOthers(props);
  if (others.length === 0) return null;
  const names = others.map(({ by, unsaved }) => {
    const name = by.name ?? t("write.somebody");
    return unsaved ? t("write.notSavedBy", { name }) : name;
  });
  return <span className="notice" role="status">{t("write.others", { names: names.join(", ") })}</span>;
}

function useOthers({ type, documentId, locale, unsaved }: OthersProps): Visit[] {
  const [others, setOthers] = useState<Visit[]>([]);
  const isUnsaved = useRef(unsaved);
  isUnsaved.current = unsaved;
  const say = useRef(() => {});
  useEffect(() => {
    let isOver = false; // the form has been left, or the server refuses
    let isHidden = false; // the page has been left, and may be shown again
    const place = { contentType: type.uid, documentId, ...(isLocalized(type) ? { locale } : {}) };
    const request = (more: Record<string, boolean>): Request => ({ method: "POST", path: "_presence", body: { data: { ...place, ...more } } });
    let last = Promise.resolve(); // one request follows the other, so that the last one counts
    const saying = async () => {
      if (isOver || isHidden || (document.visibilityState === "hidden" && !isUnsaved.current)) return;
      const visits = await ask<{ data: Visit[] }>(request({ unsaved: isUnsaved.current })).then(
        ({ body }) => body.data,
        (err) => {
          isOver ||= err instanceof Failure && isRefusal(err.status);
          return []; // nothing is known
        },
      );
      setOthers(isOver ? [] : visits);
    };
    say.current = () => {
      last = last.then(saying);
    };
    // If it fails, the server forgets the visit by itself.
    const leave = () => ask({ ...request({ closed: true }), outlives: true }).catch(() => {});
    const turn = () => say.current();
    const hide = () => {
      isHidden = true; // a page that is left also comes out of view, and must not say then that it is there
      void leave();
    };
    const show = () => {
      isHidden = false;
      turn();
    };
    const timer = setInterval(turn, pause);
    document.addEventListener("visibilitychange", turn);
    window.addEventListener("pagehide", hide);
    window.addEventListener("pageshow", show);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", turn);
      window.removeEventListener("pagehide", hide);
      window.removeEventListener("pageshow", show);
      setOthers([]);
      const wasOver = isOver;
      isOver = true;
      if (!wasOver) void last.then(leave);
    };
  }, [type, documentId, locale]);
  useEffect(() => say.current(), [type, documentId, locale, unsaved]);
  return others;
}
