package schema

import (
	"strconv"
	"strings"
	"unicode"
)

// spellingOf transliterates a letter to ASCII letters, the only ones that GraphQL names may hold.
func spellingOf(r rune) (spelling string, ok bool) {
	for _, l := range latinSpellings {
		if strings.ContainsRune(l.letters, r) {
			return l.spelling, true
		}
	}
	return "", unicode.Is(unicode.Mn, r) // diacritics are left out
}

var latinSpellings = []struct{ spelling, letters string }{
	// Latin
	{"A", "ÀÁÂÃÅĀĂĄẠẢẤẦẨẪẬẮẰẲẴẶ"}, {"Ae", "Ä"}, {"AE", "Æ"}, {"C", "ÇĆĈĊČ"}, {"E", "ÈÉÊËĒĔĖĘĚẸẺẼẾỀỂỄỆ"},
	{"I", "ÌÍÎÏĨĪĬĮİỈỊ"}, {"D", "ÐĎĐ"}, {"N", "ÑŃŅŇŊ"}, {"O", "ÒÓÔÕØŌŎŐƠỌỎỐỒỔỖỘỚỜỞỠỢ"}, {"Oe", "ÖŒ"},
	{"U", "ÙÚÛŨŪŬŮŰŲƯỤỦỨỪỬỮỰ"}, {"Ue", "Ü"}, {"Y", "ÝŶŸỲỴỶỸ"}, {"TH", "Þ"}, {"ss", "ßſ"}, {"a", "àáâãåāăąạảấầẩẫậắằẳẵặ"},
	{"ae", "äæ"}, {"c", "çćĉċč"}, {"e", "èéêëēĕėęěẹẻẽếềểễệ"}, {"i", "ìíîïĩīĭįıỉị"}, {"d", "ðďđ"}, {"n", "ñńņňŉŋ"},
	{"o", "òóôõøōŏőơọỏốồổỗộớờởỡợ"}, {"oe", "öœ"}, {"u", "ùúûũūŭůűųưụủứừửữự"}, {"ue", "ü"}, {"y", "ýÿŷỳỵỷỹ"},
	{"th", "þ"},
	{"G", "ĜĞĠĢ"}, {"g", "ĝğġģ"}, {"H", "ĤĦ"}, {"h", "ĥħ"}, {"IJ", "Ĳ"}, {"ij", "ĳ"}, {"J", "Ĵ"}, {"j", "ĵ"},
	{"K", "Ķ"},
	{"k", "ķĸ"}, {"L", "ĹĻĽĿŁ"}, {"l", "ĺļľŀł"}, {"R", "ŔŖŘ"}, {"r", "ŕŗř"}, {"S", "ŚŜŞŠȘ"}, {"s", "śŝşšș"},
	{"T", "ŢŤŦȚ"}, {"t", "ţťŧț"}, {"W", "Ŵ"}, {"w", "ŵ"}, {"Z", "ŹŻŽ"}, {"z", "źżž"}, {"SS", "ẞ"},
	// Greek
	{"A", "ΆΑ"}, {"E", "ΈΕ"}, {"I", "ΉΊΗΙΪ"}, {"O", "ΌΏΟΩ"}, {"Y", "ΎΥΫ"}, {"i", "ΐήίηιϊ"}, {"B", "Β"}, {"G", "Γ"},
	{"D", "Δ"}, {"Z", "Ζ"}, {"TH", "Θ"}, {"K", "Κ"}, {"L", "Λ"}, {"M", "Μ"}, {"N", "Ν"}, {"KS", "Ξ"}, {"P", "Π"},
	{"R", "Ρ"}, {"S", "Σ"}, {"T", "Τ"}, {"F", "Φ"}, {"X", "Χ"}, {"PS", "Ψ"}, {"a", "άα"}, {"e", "έε"}, {"y", "ΰυϋύ"},
	{"v", "β"}, {"g", "γ"}, {"d", "δ"}, {"z", "ζ"}, {"th", "θ"}, {"k", "κ"}, {"l", "λ"}, {"m", "μ"}, {"n", "ν"},
	{"ks", "ξ"}, {"o", "οωόώ"}, {"p", "π"}, {"r", "ρ"}, {"s", "ςσ"}, {"t", "τ"}, {"f", "φ"}, {"x", "χ"}, {"ps", "ψ"},
	// Cyrillic
	{"Yo", "Ё"}, {"Ye", "Є"}, {"I", "ІИ"}, {"Yi", "Ї"}, {"Lj", "Љ"}, {"Nj", "Њ"}, {"Kj", "Ќ"}, {"A", "А"}, {"B", "Б"},
	{"V", "В"}, {"G", "ГҐ"}, {"D", "Д"}, {"E", "ЕЭ"}, {"Zh", "Ж"}, {"Z", "З"}, {"J", "Й"}, {"K", "К"}, {"L", "Л"},
	{"M", "М"}, {"N", "Н"}, {"O", "О"}, {"P", "П"}, {"R", "Р"}, {"S", "С"}, {"T", "Т"}, {"U", "У"}, {"F", "Ф"},
	{"H", "Х"}, {"Cz", "Ц"}, {"Ch", "Ч"}, {"Sh", "Ш"}, {"Shh", "Щ"}, {"", "ЪЬъь"}, {"Y", "Ы"}, {"Yu", "Ю"}, {"Ya", "Я"},
	{"a", "а"}, {"b", "б"}, {"v", "в"}, {"g", "гґ"}, {"d", "д"}, {"e", "еэ"}, {"zh", "ж"}, {"z", "з"}, {"i", "иі"},
	{"j", "й"}, {"k", "к"}, {"l", "л"}, {"m", "м"}, {"n", "н"}, {"o", "о"}, {"p", "п"}, {"r", "р"}, {"s", "с"},
	{"t", "т"}, {"u", "у"}, {"f", "ф"}, {"h", "х"}, {"cz", "ц"}, {"ch", "ч"}, {"sh", "ш"}, {"shh", "щ"}, {"y", "ы"},
	{"yu", "ю"}, {"ya", "я"}, {"yo", "ё"}, {"ye", "є"}, {"yi", "ї"}, {"lj", "љ"}, {"nj", "њ"}, {"kj", "ќ"},
	// Armenian
	{"A", "Ա"}, {"B", "Բ"}, {"G", "Գ"}, {"D", "Դ"}, {"Ye", "Ե"}, {"Z", "Զ"}, {"E", "Է"}, {"Y", "ԸՅ"}, {"T", "ԹՏ"},
	{"Zh", "Ժ"}, {"I", "Ի"}, {"L", "Լ"}, {"Kh", "Խ"}, {"Ts", "Ծ"}, {"K", "Կ"}, {"H", "Հ"}, {"Dz", "Ձ"}, {"Gh", "Ղ"},
	{"Tch", "Ճ"}, {"M", "Մ"}, {"N", "Ն"}, {"Sh", "Շ"}, {"Vo", "Ո"}, {"Ch", "Չ"}, {"P", "ՊՓ"}, {"J", "Ջ"}, {"R", "ՌՐ"},
	{"S", "Ս"}, {"V", "Վ"}, {"C", "Ց"}, {"Q", "Ք"}, {"O", "Օ"}, {"F", "Ֆ"}, {"a", "ա"}, {"b", "բ"}, {"g", "գ"},
	{"d", "դ"}, {"ye", "ե"}, {"z", "զ"}, {"e", "է"}, {"y", "ըյ"}, {"t", "թտ"}, {"zh", "ժ"}, {"i", "ի"}, {"l", "լ"},
	{"kh", "խ"}, {"ts", "ծ"}, {"k", "կ"}, {"h", "հ"}, {"dz", "ձ"}, {"gh", "ղ"}, {"tch", "ճ"}, {"m", "մ"}, {"n", "ն"},
	{"sh", "շ"}, {"vo", "ո"}, {"ch", "չ"}, {"p", "պփ"}, {"j", "ջ"}, {"r", "ռր"}, {"s", "ս"}, {"v", "վ"}, {"c", "ց"},
	{"q", "ք"}, {"o", "օ"}, {"f", "ֆ"}, {"yev", "և"},
	// Arabic
	{"e", "ءعۀېے"}, {"a", "آأاى"}, {"w", "ؤو"}, {"i", "إ"}, {"y", "ئيی"}, {"b", "ب"}, {"t", "ةتطٹ"}, {"th", "ث"},
	{"j", "ج"}, {"h", "حهھہ"}, {"kh", "خ"}, {"d", "دضڈډ"}, {"dh", "ذ"}, {"r", "رڑړ"}, {"z", "زظځ"}, {"s", "سص"},
	{"sh", "ش"}, {"gh", "غ"}, {"f", "ف"}, {"q", "ق"}, {"k", "كک"}, {"l", "ل"}, {"m", "م"}, {"n", "نںڼ"}, {"u", "ُ"},
	{"0", "٠۰"}, {"1", "١۱"}, {"2", "٢۲"}, {"3", "٣۳"}, {"4", "٤۴"}, {"5", "٥۵"}, {"6", "٦۶"}, {"7", "٧۷"}, {"8", "٨۸"},
	{"9", "٩۹"}, {"p", "ټپ"}, {"c", "څ"}, {"ch", "چ"}, {"g", "ږګگ"}, {"zh", "ژ"}, {"x", "ښ"}, {"ai", "ۍ"},
	// Georgian
	{"a", "ა"}, {"b", "ბ"}, {"g", "გ"}, {"d", "დ"}, {"e", "ე"}, {"v", "ვ"}, {"z", "ზ"}, {"t", "თტ"}, {"i", "ი"},
	{"k", "კყ"}, {"l", "ლ"}, {"m", "მ"}, {"n", "ნ"}, {"o", "ო"}, {"p", "პ"}, {"zh", "ჟ"}, {"r", "რ"}, {"s", "ს"},
	{"u", "უ"}, {"ph", "ფ"}, {"q", "ქ"}, {"gh", "ღ"}, {"sh", "შ"}, {"ch", "ჩ"}, {"ts", "ცწ"}, {"dz", "ძ"}, {"tch", "ჭ"},
	{"kh", "ხ"}, {"j", "ჯ"}, {"h", "ჰ"},
}

// enumValueName makes a GraphQL name from a value of an enumeration: very hard becomes very_hard, Über becomes Ueber.
// Each run of characters that a name cannot hold becomes one _ between two words.
func enumValueName(value string) string {
	var b strings.Builder
	gap := false
	word := func(s string) {
		if s == "" {
			return
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteString(s)
	}
	for _, r := range value {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			word(string(r))
		case r == '&':
			gap = true
			word("and")
			gap = true
		default:
			if spelling, ok := spellingOf(r); ok {
				word(spelling)
			} else {
				gap = true
			}
		}
	}
	return legalEnumName(b.String())
}

// legalEnumName prefixes names that are empty, begin with a digit or are reserved in GraphQL.
func legalEnumName(name string) string {
	switch {
	case name == "", '0' <= name[0] && name[0] <= '9', name == "true", name == "false", name == "null":
		return "_" + name
	}
	return name
}

// newEnum makes an enum with a distinct name for each value.
func newEnum(name string, values []string) *Enum {
	e := &Enum{Name: name, byName: map[string]string{}, byValue: map[string]string{}}
	for _, value := range values {
		e.add(EnumValue{Name: e.free(enumValueName(value)), Value: value})
	}
	return e
}

// free returns name, or the first of name_2, name_3, … that no other value has.
func (e *Enum) free(name string) string {
	candidate := name
	for n := 2; ; n++ {
		if _, taken := e.byName[candidate]; !taken {
			return candidate
		}
		candidate = strings.TrimSuffix(name, "_") + "_" + strconv.Itoa(n) // a name must not begin with two _
	}
}

func (e *Enum) add(v EnumValue) {
	e.Values = append(e.Values, v)
	e.byName[v.Name] = v.Value
	e.byValue[v.Value] = v.Name
}
