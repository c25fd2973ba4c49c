package config

import (
	"slices"
	"strings"

	"lectern/internal/yamlfile"
	"lectern/media"
)

// imagesFile is upload.config.images as written. Decoding it sets the settings that its pointers lead to.
type imagesFile struct {
	// sizes in which clients may ask for images, as `400`, `1200x630` or `x200`: see
	// [media.md](media.md#images-on-request)
	// Default: none
	Sizes *[]media.Size
	// ways to fit an image into a size
	Fits *[]media.Fit
	// formats in which clients may ask for images
	Formats *[]string
	// signs URLs, which may ask for any size; 16 bytes or more
	// Default: none
	Secret *string
	// most bytes of made images in `data/image-cache`; no image may have more than a quarter
	Cache *ByteSize
}

// imagesFileOf returns an imagesFile whose pointers lead to s.
func imagesFileOf(s *media.ImageSettings) imagesFile {
	return imagesFile{Sizes: &s.Sizes, Fits: &s.Fits, Formats: &s.Formats, Secret: &s.Secret,
		Cache: (*ByteSize)(&s.Cache)}
}

const (
	minImageSecret = 16      // bytes
	minImageCache  = 1 << 20 // bytes
	maxImageSizes  = 100
)

// checkImages checks the settings of images on request. n is the Node of upload.config.images.
func checkImages(s *media.ImageSettings, n *yamlfile.Node) (problems yamlfile.Problems) {
	if len(s.Sizes) > maxImageSizes {
		problems.Add(n.At("sizes"), "sizes may list at most %d sizes: clients may ask for each of every image",
			maxImageSizes)
	}
	if len(s.Fits) == 0 {
		problems.Add(n.At("fits"), "fits must list at least one way to fit an image into a size, such as inside")
	}
	for i, format := range s.Formats {
		if !slices.Contains(media.VariantFormats, format) {
			problems.Add(n.At("formats").Items[i], "formats may list %s, not %q",
				strings.Join(media.VariantFormats, ", "), format)
		}
	}
	if s.Secret != "" && len(s.Secret) < minImageSecret {
		problems.Add(n.At("secret"),
			"secret must have %d bytes or more: whoever guesses it can ask for images of any size", minImageSecret)
	}
	if s.Cache < minImageCache {
		problems.Add(n.At("cache"),
			"cache must be 1mb or more: it is how many bytes the cached images may take on the disk")
	}
	return problems
}
