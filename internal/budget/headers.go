package budget

// headerBytes is what a header takes beside its name and value.
const headerBytes = 128

// OfHeaders returns about how many bytes the headers of a request take.
func OfHeaders(headers map[string][]string) (bytes int) {
	for name, values := range headers {
		bytes += len(name) + headerBytes
		for _, value := range values {
			bytes += len(value) + headerBytes
		}
	}
	return bytes
}
