package remoting

// LanguageCode names the language of a command's sender (org.apache.rocketmq.remoting.protocol.LanguageCode).
type LanguageCode uint8

// The languages of the protocol. A name or number that is not listed is decoded as Other.
const (
	Java   LanguageCode = 0
	CPP    LanguageCode = 1
	DotNet LanguageCode = 2
	Python LanguageCode = 3
	Delphi LanguageCode = 4
	Erlang LanguageCode = 5
	Ruby   LanguageCode = 6
	Other  LanguageCode = 7
	HTTP   LanguageCode = 8
	Go     LanguageCode = 9
	PHP    LanguageCode = 10
	OMS    LanguageCode = 11
	Rust   LanguageCode = 12
	NodeJS LanguageCode = 13
)

// String is the name that stands in a JSON header.
func (l LanguageCode) String() string {
	switch l {
	case Java:
		return "JAVA"
	case CPP:
		return "CPP"
	case DotNet:
		return "DOTNET"
	case Python:
		return "PYTHON"
	case Delphi:
		return "DELPHI"
	case Erlang:
		return "ERLANG"
	case Ruby:
		return "RUBY"
	case HTTP:
		return "HTTP"
	case Go:
		return "GO"
	case PHP:
		return "PHP"
	case OMS:
		return "OMS"
	case Rust:
		return "RUST"
	case NodeJS:
		return "NODE_JS"
	case Other:
	}
	return "OTHER"
}

// languageOf is the code of a name as it stands in a JSON header.
func languageOf(name string) LanguageCode {
	for l := Java; l <= NodeJS; l++ {
		if l.String() == name {
			return l
		}
	}
	return Other
}

// languageOfCode is the language of a number on the wire.
func languageOfCode(n int64) LanguageCode {
	if n < 0 || n > int64(NodeJS) {
		return Other
	}
	return LanguageCode(n)
}
