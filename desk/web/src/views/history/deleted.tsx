// The documents of a type that were deleted: what they were, and how to bring them back.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { type Access, type ContentType, isLocalized, isProjects, isSingle, mainAttribute, readsDrafts } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import { contents } from "../../compare/values.ts";
import { labelOf } from "../../form/field.ts";
import { go, type Place } from "../../place.ts";
import { language, t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import { bringBack, type Deleted, deletedRequest, type DeletedPage } from "./bringback.ts";
import { Differences } from "./differences.tsx";
import { nameOf } from "./past.tsx";
import { aroundOf, useVersion, versionRequest } from "./read.ts";
import "./history.css";

// lookedBackAt returns the types whose deleted documents a reader may list.
function lookedBackAt(access: Access): ContentType[] {
  return access.contentTypes.filter((type) => isProjects(type) && !isSingle(type) && "history" in type.actions);
}

export function DeletedDocuments({ access, place }: { access: Access; place: Place }) {
  const types = lookedBackAt(access);
  const type = types.find(({ apiID }) => apiID === place.path[1]) ?? types[0];
  if (!type) return <p className="problem">{t("app.notFound")}</p>;
  return (
    <section className="gone-documents" aria-labelledby="gone-title">
      <div className="row">
        <h1 id="gone-title">{t("gone.title")}</h1>
        <select aria-label={t("gone.type")} value={type.apiID} onChange={(event) => go([place.path[0]!, event.target.value])}>
          {types.map(({ uid, apiID, schema }) => <option key={uid} value={apiID}>{schema.displayName}</option>)}
        </select>
        <CopyCurl request={deletedRequest(type, 1)} />
      </div>
      <DeletedList key={type.uid} access={access} type={type} />
    </section>
  );
}

function DeletedList({ access, type }: { access: Access; type: ContentType }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [back, setBack] = useState<Deleted | null>(null); // what was brought back last
  const pages = useInfiniteQuery({
    queryKey: ["deleted", type.uid],
    queryFn: async ({ pageParam, signal }) => (await ask<DeletedPage>({ ...deletedRequest(type, pageParam), signal })).body,
    initialPageParam: 1,
    getNextPageParam: ({ meta: { pagination } }) => (pagination.page < pagination.pageCount ? pagination.page + 1 : undefined),
  });
  const items = pages.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {back && (
        <p className="notice" role="status">
          {t(back.versions.some(({ status }) => status === "published") && type.schema.draftAndPublish ? "gone.backAsDraft" : "gone.back")}{" "}
          <PlaceLink to={["content", type.apiID, back.documentId]} query={localeOf(type, back)}>{t("gone.open")}</PlaceLink>
        </p>
      )}
      {pages.error && <Problem error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isPending && <Waiting />}
      {pages.data && items.length === 0 && <p className="quiet">{t("gone.none")}</p>}
      <ol className="past">
        {items.map((item) => (
          <li key={item.documentId}>
            <DeletedDocument
              access={access}
              type={type}
              item={item}
              isOpen={chosen === item.documentId}
              onOpen={(open) => setChosen(open ? item.documentId : null)}
              onBack={() => {
                setBack(item);
                void pages.refetch();
              }}
            />
          </li>
        ))}
      </ol>
      {pages.hasNextPage && (
        <Button className="button" isDisabled={pages.isFetching} onPress={() => void pages.fetchNextPage()}>{t("history.more")}</Button>
      )}
    </>
  );
}

const localeOf = (type: ContentType, { versions }: Deleted) =>
  isLocalized(type) && versions[0]?.locale ? new URLSearchParams({ locale: versions[0].locale }) : undefined;

interface DeletedDocumentProps {
  access: Access;
  type: ContentType;
  item: Deleted;
  isOpen: boolean;
  onOpen: (open: boolean) => void;
  onBack: () => void;
}

function DeletedDocument({ access, type, item, isOpen, onOpen, onBack }: DeletedDocumentProps) {
  const around = aroundOf(access, type, item.documentId);
  const queries = useQueryClient();
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const version = item.versions.find(({ status }) => status === "draft") ?? item.versions[0];
  const request = version && "findOne" in type.actions
    ? versionRequest(around, { asOf: item.before, locale: version.locale ?? "", status: readsDrafts(access, type) ? version.status : undefined })
    : null;
  const { data: values, error, isPending } = useVersion(request, null);
  const main = mainAttribute(type);
  const name = String((main && values?.[main]) || item.documentId);
  const restore = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await bringBack(type, item, false);
      void queries.invalidateQueries({ queryKey: ["list", type.uid] });
      onBack();
    } catch (err) {
      setProblem(err);
    } finally {
      setBusy(false);
    }
  };
  const languages = [...new Set(item.versions.flatMap(({ locale }) => locale ?? []))].join(", ");
  return (
    <>
      <Button className="what" aria-expanded={isOpen} onPress={() => onOpen(!isOpen)}>
        <span><strong>{name}</strong> {languages && <span className="sign">{languages}</span>}</span>
        <span className="quiet">{t("history.byAt", { name: nameOf(item.by), time: new Date(item.at).toLocaleString(language) })}</span>
      </Button>
      {isOpen && (
        <div className="write">
          <div className="row">
            {"restore" in type.actions && (
              <Button className="button" isDisabled={busy} onPress={() => void restore()} aria-label={t("gone.bringBackOne", { name })}>{t("gone.bringBack")}</Button>
            )}
            {request && <CopyCurl request={request} />}
          </div>
          {problem !== null && <p className="problem" role="alert">{messageOf(problem)}</p>}
          {error ? <Problem error={error} /> : request && isPending && <Waiting />}
          {values && (
            <div className="plain">
              <Differences
                fields={contents(type.schema.attributes, around, values)}
                componentName={(uid) => access.components.find((one) => one.uid === uid)?.schema.displayName ?? labelOf(uid)}
              />
            </div>
          )}
        </div>
      )}
    </>
  );
}
