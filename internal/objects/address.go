package objects

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// At returns the store at an address: the path of a directory, or s3://BUCKET/PREFIX. variable returns variables of the
// environment. The variables of a bucket are those that other programs for S3 read:
//
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY    the key
//	AWS_REGION, or AWS_DEFAULT_REGION           the region
//	AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL    where the bucket is, if it is not one of Amazon
//
// If create is set, At creates a directory that does not exist.
func At(address string, variable func(string) string, create bool) (Store, error) {
	if !strings.HasPrefix(address, "s3://") {
		if create {
			return NewDirectory(address)
		}
		return OpenDirectory(address)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not s3://BUCKET/PREFIX", address)
	}
	s := BucketSettings{
		Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"),
		Region:    cmp.Or(variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"), "us-east-1"),
		AccessKey: variable("AWS_ACCESS_KEY_ID"), SecretKey: variable("AWS_SECRET_ACCESS_KEY"),
	}
	if s.Prefix != "" {
		s.Prefix += "/"
	}
	if s.AccessKey == "" || s.SecretKey == "" {
		return nil, errors.New("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the key of the bucket")
	}
	s.Endpoint = cmp.Or(variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), "https://s3."+s.Region+
		".amazonaws.com")
	return NewBucket(s)
}
