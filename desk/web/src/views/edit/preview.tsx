// The website with the draft, beside the form. It is loaded anew after each save.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type ContentType, isLocalized, isSingle, pathOf } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import type { Open } from "./document.ts";

interface PreviewProps {
  type: ContentType;
  open: Open;
  locale: string;
}

// hasPreview reports whether the reader may see drafts of a type on a website.
export const hasPreview = (type: ContentType) => type.preview && "preview" in type.actions;

export function Preview({ type, open, locale }: PreviewProps) {
  const [saves, setSaves] = useState(0);
  useEffect(() => setSaves((count) => count + 1), [open.base]);
  const request: Request = {
    method: "POST",
    path: `${pathOf(type)}${isSingle(type) ? "" : `/${open.documentId}`}/actions/preview`,
    query: isLocalized(type) ? { locale } : undefined,
  };
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", request.path, locale, saves],
    queryFn: async ({ signal }) => ({ saves, ...(await ask<{ data: { url: string | null } }>({ ...request, signal })).body.data }),
    placeholderData: keepPreviousData,
    enabled: saves > 0,
    gcTime: 0,
    staleTime: Infinity,
  });
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Waiting />;
  if (data.url === null) return <p className="quiet">{t("write.previewNone")}</p>;
  return (
    <>
      <div className="row">
        <a className="button" href={data.url} target="_blank" rel="noopener noreferrer">{t("write.previewTab")}</a>
        <CopyCurl request={request} />
      </div>
      <iframe
        key={data.saves}
        className="preview"
        title={t("write.previewOf")}
        src={data.url}
        sandbox="allow-scripts allow-same-origin allow-forms allow-popups"
        referrerPolicy="no-referrer"
      />
    </>
  );
}
