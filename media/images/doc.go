// Package images reads the headers of image files, decodes them as browsers do, and makes and writes smaller images of
// them. It knows formats, EXIF orientations and colour profiles, and how much memory each step takes.
package images
