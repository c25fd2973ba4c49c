package media

import (
	"cmp"
	"strings"
)

// typeByExtension returns the media type for a file extension, "" for an unknown one. It uses a table of its own
// instead of the system's, so that every machine serves the same types.
func typeByExtension(ext string) string { return byExtension[strings.ToLower(ext)] }

// extensionByType returns the usual extension for a media type, .bin for an unknown one.
func extensionByType(t string) string { return cmp.Or(usualExtension[plainType(t)], ".bin") }

// extensionTable has one line per media type: the type and its extensions, the usual one first.
const extensionTable = `
text/plain                    .txt .text .log .conf .ini .lrc
text/csv                      .csv
text/tab-separated-values     .tsv
text/markdown                 .md .markdown
text/html                     .html .htm .shtml
text/css                      .css
text/javascript               .js .mjs .cjs
text/calendar                 .ics
text/vcard                    .vcf .vcard
text/vtt                      .vtt
text/xml                      .xml .xsl .xsd
text/yaml                     .yaml .yml
application/json              .json .map
application/ld+json           .jsonld
application/geo+json          .geojson
application/manifest+json     .webmanifest
application/xhtml+xml         .xhtml .xht
application/rss+xml           .rss
application/atom+xml          .atom
application/gpx+xml           .gpx
application/pdf               .pdf
application/rtf               .rtf
application/sql               .sql
application/toml              .toml
application/x-subrip          .srt
application/zip               .zip
application/gzip              .gz .tgz
application/x-tar             .tar
application/x-bzip2           .bz2
application/x-xz              .xz
application/zstd              .zst
application/x-7z-compressed   .7z
application/vnd.rar           .rar
application/epub+zip          .epub
application/wasm              .wasm
application/octet-stream      .bin .exe .dll .so .dmg .iso .img
application/msword            .doc
application/vnd.ms-excel      .xls
application/vnd.ms-powerpoint .ppt
application/vnd.openxmlformats-officedocument.wordprocessingml.document   .docx
application/vnd.openxmlformats-officedocument.spreadsheetml.sheet         .xlsx
application/vnd.openxmlformats-officedocument.presentationml.presentation .pptx
application/vnd.oasis.opendocument.text         .odt
application/vnd.oasis.opendocument.spreadsheet  .ods
application/vnd.oasis.opendocument.presentation .odp
application/vnd.google-earth.kml+xml .kml
application/vnd.google-earth.kmz     .kmz
application/vnd.apple.mpegurl        .m3u8
image/png       .png
image/apng      .apng
image/jpeg      .jpg .jpeg .jpe .jfif
image/gif       .gif
image/webp      .webp
image/svg+xml   .svg
image/avif      .avif
image/heic      .heic
image/heif      .heif
image/bmp       .bmp
image/tiff      .tiff .tif
image/x-icon    .ico
image/jxl       .jxl
image/vnd.adobe.photoshop .psd
audio/mpeg      .mp3
audio/mp4       .m4a
audio/aac       .aac
audio/ogg       .ogg .oga .opus
audio/flac      .flac
audio/wav       .wav
audio/webm      .weba
audio/midi      .mid .midi
video/mp4       .mp4 .m4v
video/mpeg      .mpeg .mpg
video/webm      .webm
video/ogg       .ogv
video/quicktime .mov
video/x-msvideo .avi
video/x-matroska .mkv
video/mp2t      .ts
font/woff       .woff
font/woff2      .woff2
font/ttf        .ttf
font/otf        .otf
model/gltf+json   .gltf
model/gltf-binary .glb
model/stl         .stl
model/obj         .obj
`

var byExtension, usualExtension = readExtensions()

func readExtensions() (byExt, usual map[string]string) {
	byExt, usual = map[string]string{}, map[string]string{}
	for line := range strings.Lines(extensionTable) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		usual[fields[0]] = fields[1]
		for _, ext := range fields[1:] {
			byExt[ext] = fields[0]
		}
	}
	return byExt, usual
}

// withCharset maps the media types of text to the same type with the charset that they are served with.
var withCharset = map[string]string{}

func init() {
	for t := range usualExtension {
		if strings.HasPrefix(t, "text/") || t == "application/json" || t == "application/manifest+json" {
			withCharset[t] = t + "; charset=utf-8"
		}
	}
}
