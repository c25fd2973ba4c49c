// The view of one document: its form, what it is saved and published by, and in which language it is shown.
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { type Access, type ContentType, isLocalized, isSingle, mainAttribute, readsDrafts } from "../../api/access.ts";
import { formOf } from "../../form/context.ts";
import { DocumentForm } from "../../form/form.tsx";
import { drafts } from "../../keep/kept.ts";
import { go, type Place } from "../../place.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import { ConflictView } from "./conflict.tsx";
import { type Open, useDocument } from "./document.ts";
import { Others } from "./presence.tsx";
import { hasPreview } from "./preview.tsx";
import { Later, Planned } from "./timing.tsx";

const Look = lazy(async () => ({ default: (await import("../history/look.tsx")).Look }));

interface EditProps {
  access: Access;
  type: ContentType;
  place: Place;
  documentId: string | null;
}

export function Edit({ access, type, place, documentId }: EditProps) {
  const locale = localeOf(access, type, place);
  const form = useMemo(
    () => formOf(access, type, { documentId, locale: locale || null, status: readsDrafts(access, type) ? "draft" : "published" }),
    [access, type, documentId, locale],
  );
  const open = useDocument({ access, type, form, drafts, documentId, locale, name: place.query.get("form") ?? "" });

  useSaveKey(() => void save());
  const save = async () => {
    const id = await open.save();
    if (id !== null && documentId === null && !isSingle(type)) {
      go(["content", type.apiID, id], locale ? new URLSearchParams({ locale }) : undefined, true);
    }
  };

  if (open.state === "missing") return <p className="problem">{t("edit.missing")}</p>;
  if (open.state === "loading") return open.problem ? <Problem error={open.problem} retry={open.retry} /> : <Waiting />;
  const main = mainAttribute(type);
  const isLooking = place.query.has("look");
  const title = String((main && open.values[main]) || (documentId === null && !isSingle(type) ? t("edit.new", { type: type.schema.displayName }) : type.schema.displayName));
  return (
    <section className={isLooking ? "edit looking" : "edit"} aria-label={title}>
      <header className="bar">
        <div className="row">
          {!isSingle(type) && <PlaceLink to={["content", type.apiID]}>{type.schema.displayName}</PlaceLink>}
          <h1>{title}</h1>
          <Saved open={open} />
          {!open.isNew && !open.isGone && <Others type={type} documentId={idOf(open)} locale={locale} unsaved={open.isDirty} />}
        </div>
        <Actions access={access} type={type} open={open} locale={locale} place={place} canWrite={!form.isReadOnly} onSave={() => void save()} />
      </header>
      {open.isGone && <Gone open={open} type={type} locale={locale} />}
      {!open.isNew && !open.isGone && <Planned type={type} documentId={idOf(open)} locale={locale} />}
      <Notices open={open} isLocalized={isLocalized(type)} documentId={documentId} />
      <div className={isLooking ? "beside" : undefined}>
        <div>
          <DocumentForm form={form} values={open.values} errors={open.errors} onChange={open.set} />
        </div>
        {isLooking && (
          <Suspense fallback={<Waiting />}>
            <Look access={access} type={type} form={form} open={open} locale={locale} place={place} />
          </Suspense>
        )}
      </div>
      {open.conflict && <ConflictView conflict={open.conflict} onSettle={open.settle} />}
    </section>
  );
}

function localeOf(access: Access, type: ContentType, place: Place): string {
  if (!isLocalized(type)) return "";
  const asked = place.query.get("locale") ?? "";
  return access.locales.includes(asked) ? asked : (access.locales[0] ?? "");
}

// useSaveKey has Ctrl-S save, as everywhere.
function useSaveKey(save: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      save();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

// Saved says whether the server has what the form shows.
function Saved({ open }: { open: Open }) {
  const text =
    open.state === "saving" ? t("edit.saving") : open.isDirty ? t("edit.unsaved") : open.isNew ? "" : t("edit.saved");
  return (
    <span className="quiet" role="status">
      {text}
    </span>
  );
}

// idOf returns the id of a document that is there, also of a single type.
const idOf = (open: Open) => open.documentId ?? String(open.base.documentId ?? "");

interface ActionsProps {
  access: Access;
  type: ContentType;
  open: Open;
  locale: string;
  place: Place;
  canWrite: boolean;
  onSave: () => void;
}

// withParameter returns the query of a place with a value for a parameter.
function withParameter(place: Place, name: string, value: string): URLSearchParams {
  const query = new URLSearchParams(place.query);
  query.set(name, value);
  return query;
}

type Asked = "discardDraft" | "unpublish" | "delete";

function Actions({ access, type, open, locale, place, canWrite, onSave }: ActionsProps) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const queries = useQueryClient();
  const busy = open.state === "saving";
  const there = !open.isNew && !open.isGone;
  const documentId = idOf(open);
  const changed = () => void queries.invalidateQueries({ queryKey: ["list", type.uid] });
  const carryOut = async (what: Asked) => {
    setAsked(null);
    if (what !== "delete") await open.act(what);
    else if (await open.remove()) go(isSingle(type) ? [] : ["content", type.apiID]);
    changed();
  };
  const questions: Record<Asked, [string, string]> = {
    discardDraft: [t("edit.sureDiscard"), t("edit.discard")],
    unpublish: [t("edit.sureUnpublish"), t("edit.unpublish")],
    delete: [t("edit.sureDelete"), t("edit.delete")],
  };
  const may = (action: string) => there && action in type.actions;
  return (
    <div className="row">
      {isLocalized(type) && (
        <select aria-label={t("list.locale")} value={locale} onChange={(event) => go(place.path, withParameter(place, "locale", event.target.value))}>
          {access.locales.map((code) => <option key={code} value={code}>{code}</option>)}
        </select>
      )}
      {canWrite && !open.isGone && (
        <Button
          className="button primary"
          isDisabled={busy || (!open.isDirty && there)}
          onPress={() => {
            onSave();
            changed();
          }}
        >
          {t("edit.save")}
        </Button>
      )}
      {may("publish") && <Button className="button" isDisabled={busy} onPress={() => void open.act("publish").then(changed)}>{t("edit.publish")}</Button>}
      {may("unpublish") && <Button className="button" isDisabled={busy} onPress={() => setAsked("unpublish")}>{t("edit.unpublish")}</Button>}
      {may("discardDraft") && <Button className="button" isDisabled={busy} onPress={() => setAsked("discardDraft")}>{t("edit.discard")}</Button>}
      {may("delete") && <Button className="button danger" isDisabled={busy} onPress={() => setAsked("delete")}>{t("edit.delete")}</Button>}
      {there && type.schema.draftAndPublish && <Later type={type} documentId={documentId} locale={locale} />}
      {there && hasPreview(type) && <PlaceLink className="button" to={place.path} query={withParameter(place, "look", "preview")}>{t("write.preview")}</PlaceLink>}
      {(there || open.documentId !== null || isSingle(type)) && <PlaceLink className="button" to={place.path} query={withParameter(place, "look", "history")}>{t("history.open")}</PlaceLink>}
      {there && <CopyCurl request={open.request} />}
      {asked && (
        <Confirm question={questions[asked][0]} verb={questions[asked][1]} onYes={() => void carryOut(asked)} onNo={() => setAsked(null)} />
      )}
    </div>
  );
}

interface GoneProps {
  open: Open;
  type: ContentType;
  locale: string;
}

// Gone is what a form says whose document somebody else has deleted: it can be saved as a new one.
function Gone({ open, type, locale }: GoneProps) {
  const again = async () => go(["content", type.apiID, "new"], new URLSearchParams({ form: await open.again(), ...(locale ? { locale } : {}) }));
  return (
    <div className="notice row" role="alert">
      {t("edit.gone")}
      {"create" in type.actions && <Button className="button primary" onPress={() => void again()}>{t("edit.saveAsNew")}</Button>}
      <Button className="button" onPress={() => void open.forget()}>{t("edit.forget")}</Button>
    </div>
  );
}

function Notices({ open, isLocalized, documentId }: { open: Open; isLocalized: boolean; documentId: string | null }) {
  const whole = open.errors.get("") ?? [];
  return (
    <>
      {open.news && (
        <p className="notice row" role="status">
          {open.news.by ? t("write.savedBy", { name: open.news.by }) : t("write.savedElsewhere")}
          {" "}
          {open.news.version ? t("write.notShown") : t("write.shown")}
          <Button className="button" onPress={open.show}>{t(open.news.version ? "write.show" : "write.good")}</Button>
        </p>
      )}
      {open.isRecovered && open.isDirty && !open.isGone && (
        <p className="notice row" role="status">
          {t("edit.recovered")}
          <Button className="button" onPress={() => void open.forget()}>{t("edit.forget")}</Button>
        </p>
      )}
      {open.unkept !== null && <p className="problem" role="alert">{t("edit.unkept", { message: messageOf(open.unkept) })}</p>}
      {isLocalized && open.isNew && documentId !== null && <p className="notice">{t("edit.noVersion")}</p>}
      {open.problem !== null && <p className="problem" role="alert">{t("edit.notSaved", { message: messageOf(open.problem) })}</p>}
      {whole.map((message) => <p key={message} className="problem">{message}</p>)}
    </>
  );
}
