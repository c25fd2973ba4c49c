package config

import (
	"regexp"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
	"lectern/media"
)

// Upload holds the settings upload of config/plugins.yaml. Its defaults are media.DefaultSettings.
type Upload struct {
	Enabled bool
	media.Settings
}

var defaultUpload = Upload{Enabled: true, Settings: media.DefaultSettings}

// uploadFile is upload.config as written. Decoding it sets the settings that its pointers lead to.
type uploadFile struct {
	// largest file
	SizeLimit *ByteSize `yaml:"sizeLimit"`
	// sizes of the formats that the server makes of an image, beside its thumbnail
	// Default: `{large: 1000, medium: 750, small: 500}`
	Breakpoints *yamlfile.Node
	// images of more pixels are refused
	PixelLimit *int64 `yaml:"pixelLimit"`
	// images worked on at one time
	Concurrency *int
	Security    uploadSecurityFile
	// header `Cache-Control` of files below `/uploads`: see [media.md](media.md#caches)
	CacheControl *string `yaml:"cacheControl"`
	Images       imagesFile
	// `local` is `data/uploads`, `s3` is S3-compatible storage
	Provider string
	// for `s3`: `endpoint`, `bucket`, `region`, `accessKey`, `secretKey`, `baseUrl`
	// Default: none
	ProviderOptions s3File `yaml:"providerOptions"`
}

type uploadSecurityFile struct {
	// types that may be uploaded, as `image/png`, `image/*` or `application/vnd.oasis.*`, judged by content
	// Default: all
	AllowedTypes []string `yaml:"allowedTypes"`
	// types that may not
	// Default: none
	DeniedTypes []string `yaml:"deniedTypes"`
}

// s3File is providerOptions of the provider s3 as written.
type s3File struct {
	Endpoint  string
	Bucket    string
	Region    string
	AccessKey string `yaml:"accessKey"`
	SecretKey string `yaml:"secretKey"`
	BaseURL   string `yaml:"baseUrl"`
}

// file returns an uploadFile whose pointers lead to s. Its other values are defaults.
func (s *Upload) file() uploadFile {
	f := uploadFile{SizeLimit: (*ByteSize)(&s.SizeLimit), Provider: "local", PixelLimit: &s.PixelLimit,
		Concurrency:  &s.Concurrency,
		CacheControl: &s.CacheControl, Images: imagesFileOf(&s.Images)}
	f.Security.AllowedTypes, f.Security.DeniedTypes = s.AllowedTypes, s.DeniedTypes
	return f
}

var (
	cachePattern      = regexp.MustCompile(`^[a-z-]+(=[0-9]+)?(, *[a-z-]+(=[0-9]+)?)*$`)
	typePattern       = regexp.MustCompile(`^(\*|[a-z0-9.+-]+)/(\*|[a-z0-9.+-]+\*?)$`)
	breakpointPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,30}$`)
)

// read checks the settings that decoding f has set, and sets the others. config is the Node of f, for the lines of
// problems.
func (s *Upload) read(f *uploadFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	if s.SizeLimit < 1 {
		problems.Add(config.At("sizeLimit"), "sizeLimit must be 1 or more: it is how many bytes a file may have")
	}
	if s.PixelLimit < 1 {
		problems.Add(config.At("pixelLimit"), "pixelLimit must be 1 or more: it is how many pixels an image may have")
	}
	if s.Concurrency < 1 || s.Concurrency > 64 {
		problems.Add(config.At("concurrency"),
			"concurrency must be from 1 to 64: it is how many images are worked on at a time")
	}
	if !cachePattern.MatchString(s.CacheControl) {
		problems.Add(config.At("cacheControl"),
			"cacheControl is a header Cache-Control, such as max-age=3600 or no-cache, not %q", s.CacheControl)
	}
	for _, list := range []struct {
		key   string
		types []string
		into  *[]string
	}{{"allowedTypes", f.Security.AllowedTypes, &s.AllowedTypes},
		{"deniedTypes", f.Security.DeniedTypes, &s.DeniedTypes}} {
		*list.into = nil
		for i, t := range list.types {
			t = strings.ToLower(t)
			if !typePattern.MatchString(t) {
				at := config.At("security", list.key)
				if i < len(at.Items) {
					at = at.Items[i]
				}
				problems.Add(at, "a type is written as image/png or image/*, not %q", t)
			}
			*list.into = append(*list.into, t)
		}
	}
	problems = append(problems, checkImages(&s.Images, config.At("images"))...)
	problems = append(problems, s.readBreakpoints(f.Breakpoints)...)
	return append(problems, s.readProvider(f, config)...)
}

// readBreakpoints reads the formats that are made of each image, {large: 1000, …}, and sorts them from large to small.
func (s *Upload) readBreakpoints(n *yamlfile.Node) (problems yamlfile.Problems) {
	if n.IsNull() {
		return nil
	}
	var sides map[string]int
	if problems = n.Decode(&sides); len(problems) > 0 {
		return problems
	}
	s.Breakpoints = nil
	for _, e := range n.Entries {
		switch side := sides[e.Key]; {
		case !breakpointPattern.MatchString(e.Key) || e.Key == "thumbnail":
			problems.Add(e.Value,
				"a breakpoint is named by letters and digits, such as large; thumbnail is there already")
		case side < 16 || side > 10000:
			problems.Add(e.Value, "a breakpoint is the length of a side in pixels, from 16 to 10000")
		default:
			s.Breakpoints = append(s.Breakpoints, media.Breakpoint{Name: e.Key, Side: side})
		}
	}
	if len(s.Breakpoints) > 10 {
		problems.Add(n, "at most 10 breakpoints: each is an image that is made of every image")
	}
	slices.SortStableFunc(s.Breakpoints, func(a, b media.Breakpoint) int { return b.Side - a.Side })
	return problems
}

// readProvider reads whether files are stored in the data directory or in S3.
func (s *Upload) readProvider(f *uploadFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	s.S3 = nil
	o := f.ProviderOptions
	at := func(key string) *yamlfile.Node { return config.At("providerOptions", key) }
	switch f.Provider {
	case "local":
		if o != (s3File{}) {
			problems.Add(config.At("providerOptions"),
				"the provider local has no options; for these the provider is s3")
		}
		return problems
	case "s3":
	default:
		return yamlfile.Problems{config.At("provider").Problem("provider must be local or s3, not %q", f.Provider)}
	}
	if !isHTTP(o.Endpoint) || strings.Count(strings.TrimRight(o.Endpoint, "/"), "/") > 2 {
		problems.Add(at("endpoint"),
			"endpoint must be the address of the storage, such as https://s3.eu-central-1.amazonaws.com, not %q",
			o.Endpoint)
	}
	if o.BaseURL != "" && !isHTTP(o.BaseURL) {
		problems.Add(at("baseUrl"),
			"baseUrl must be the address that clients fetch files from, such as https://files.example.org, not %q",
			o.BaseURL)
	}
	for key, value := range map[string]string{"bucket": o.Bucket, "accessKey": o.AccessKey, "secretKey": o.SecretKey} {
		if value == "" {
			problems.Add(at(key), "the provider s3 needs %s in providerOptions; keep it out of the file with ${NAME}",
				key)
		}
	}
	s.S3 = &media.S3Settings{Endpoint: strings.TrimRight(o.Endpoint, "/"), Bucket: o.Bucket, Region: o.Region,
		AccessKey: o.AccessKey, SecretKey: o.SecretKey, BaseURL: o.BaseURL}
	return problems
}
