// Command keydoc writes the configuration reference: the keys of package conf with the comments of their fields.
//
//	go run ./conf/keydoc conf > docs/configuration.md
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/conf"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: keydoc CONF_DIRECTORY")
		os.Exit(2)
	}
	text, err := reference(os.Args[1])
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keydoc:", err)
		os.Exit(1)
	}
}

const head = `# Configuration reference

Generated from package conf by ` + "`make docs`" + `; do not edit.

Where values come from, from weak to strong: defaults; files given by ` + "`-c`" + ` (YAML, or Apache's ` + "`broker.conf`" + ` and
` + "`namesrv.conf`" + ` as they are); environment (` + "`ROCKETD_`" + ` and the key, such as ` + "`ROCKETD_FLUSH_DISK_TYPE`" + `; ` + "`NAMESRV_ADDR`" + `
as for Apache, weaker than files); flags; ` + "`--set KEY=VALUE`" + `. ` + "`rocketd config --changed`" + ` prints what is in force and where it came from.

A key may be written as KEY or SECTION.KEY. ` + "`listenPort`" + ` is a key of both sections: write ` + "`broker.listenPort`" + ` and
` + "`namesrv.listenPort`" + `, or ` + "`brokerPort`" + ` and ` + "`namesrvPort`" + `. In YAML the keys of a section stand below its name, and rocketd's own at the top:

` + "```yaml" + `
dataDir: /var/lib/rocketd
host: 0.0.0.0
advertise: mq.example.com
topics:
  - orders:8
  - {name: payments, queues: 4, type: FIFO, order: true}
groups:
  - {name: billing, retryMaxTimes: 3}
messages:
  - {topic: orders, body: '{"id": 4711}', tags: created, keys: "4711"}
  - {topic: orders, body: an hour later, delay: 1h}
broker:
  flushDiskType: SYNC_FLUSH
  fileReservedTime: 48
namesrv:
  orderMessageEnable: true
` + "```" + `

Run-time updates (mqadmin updateBrokerConfig, updateNamesrvConfig) are saved into the file given by ` + "`-c`" + `, or into
` + "`config/broker.properties`" + ` and ` + "`namesrv/namesrv.properties`" + ` below the data directory.
`

// reference renders all keys.
func reference(confDir string) ([]byte, error) {
	comments, err := fieldComments(confDir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(head)
	var silent []string
	section := conf.Section("")
	for _, k := range conf.Keys() {
		comment := comments[string(k.Section)+strings.ToLower(k.Name)]
		if !k.Acts {
			silent = append(silent, string(k.Section)+"."+k.Name)
			continue
		}
		if k.Section != section {
			section = k.Section
			fmt.Fprintf(&out, "\n## %s\n\n| key | default | meaning |\n| --- | --- | --- |\n", section)
		}
		meaning, def := split(comment)
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", k.Name, def, strings.ReplaceAll(meaning, "|", `\|`))
	}
	out.WriteString("\n## Accepted without effect\n\nKeys of Apache's classes that rocketd takes and does not act on:\n\n")
	slices.Sort(silent)
	for _, name := range silent {
		fmt.Fprintf(&out, "`%s` ", name)
	}
	out.Truncate(out.Len() - 1)
	out.WriteString("\n")
	return out.Bytes(), nil
}

// split takes the name off a field's comment and the default out of it.
func split(comment string) (meaning, def string) {
	meaning, def, _ = strings.Cut(comment, " Default: ")
	def = strings.TrimSuffix(def, ".")
	_, meaning, _ = strings.Cut(meaning, " ") // the field's name
	meaning = strings.TrimPrefix(strings.TrimPrefix(meaning, "is "), "are ")
	if meaning == "" {
		return "", def
	}
	return strings.ToUpper(meaning[:1]) + meaning[1:], def
}

// fieldComments reads the comments of the configuration structs, by section and lower-case name.
func fieldComments(dir string) (map[string]string, error) {
	sections := map[string]string{
		"Rocketd": "rocketd", "Broker": "broker", "Store": "broker", "Client": "broker", "Namesrv": "namesrv", "Server": "broker",
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	comments := make(map[string]string)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			section := sections[spec.Name.Name]
			if !ok || section == "" {
				return true
			}
			for _, f := range fields.Fields.List {
				for _, ident := range f.Names {
					text := strings.Join(strings.Fields(f.Doc.Text()), " ")
					name := strings.ToLower(ident.Name)
					comments[section+name] = cmp.Or(comments[section+name], text)
					if spec.Name.Name == "Server" {
						comments["namesrv"+name] = text
					}
				}
			}
			return true
		})
	}
	return comments, nil
}
