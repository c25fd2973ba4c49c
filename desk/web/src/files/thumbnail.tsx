// A small picture of a file.
import { type FileValue, shownURL } from "./library.ts";

// Thumbnail shows the picture of a file, or its extension. The name beside it says what it is.
export function Thumbnail({ file }: { file: FileValue }) {
  if (!file.mime.startsWith("image/")) {
    return (
      <span className="thumbnail" aria-hidden="true">
        {String(file.ext ?? "")}
      </span>
    );
  }
  const formats = file.formats as Record<string, { url?: unknown } | undefined> | null | undefined;
  const small = formats?.thumbnail?.url;
  return <img className="thumbnail" src={shownURL(file, String(small ?? file.url))} alt="" loading="lazy" />;
}
