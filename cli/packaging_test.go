package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/rocketd/rocketd/conf"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// accepted fails when the command line is none: an unknown command, flag or argument.
func accepted(t *testing.T, where string, args []string) {
	t.Helper()
	c, rest, err := newRoot(&Process{Stdout: io.Discard, Stderr: io.Discard}).Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: rocketd %s: %v", where, strings.Join(args, " "), err)
	}
}

// configured loads a configuration as a process with these files and variables would.
func configured(t *testing.T, where string, env, files []string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Input{Files: files, Env: env, Machine: machine(env)})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return c
}

func ports(c *conf.Config) []string {
	return []string{fmt.Sprint(c.NamesrvServer.ListenPort), fmt.Sprint(c.Broker.ListenPort), fmt.Sprint(c.Broker.ListenPort - 2), fmt.Sprint(c.Rocketd.HTTPPort)}
}

func TestDockerfile(t *testing.T) {
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")
	_, image, _ := strings.Cut(text, "FROM scratch")
	var env, exposed []string
	user, health := "", []string(nil)
	for line := range strings.Lines(image) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ENV":
			env = append(env, strings.Fields(rest)...)
		case "EXPOSE":
			exposed = append(exposed, strings.Fields(rest)...)
		case "USER":
			user = rest
		case "HEALTHCHECK":
			_, list, _ := strings.Cut(rest, "CMD ")
			if err := yaml.Unmarshal([]byte(list), &health); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := configured(t, "Dockerfile", env, nil)
	if want := ports(c); !slices.Equal(exposed, want) {
		t.Errorf("EXPOSE %v, listens on %v", exposed, want)
	}
	if len(health) < 2 || health[0] != "/rocketd" {
		t.Fatalf("HEALTHCHECK %q", health)
	}
	accepted(t, "HEALTHCHECK", health[1:])
	if user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Errorf("USER %q", user)
	}
	// docker run -p 9876:9876 -p 10911:10911: clients on the host are told what they can reach.
	if got := c.BrokerAddr(10911); got != "127.0.0.1:10911" || c.Server.BindAddress != "0.0.0.0" || c.Rocketd.HTTPHost != "0.0.0.0" || c.Rocketd.DataDir != "/data" {
		t.Errorf("tells %s, listens on %s, console on %s, files in %s", got, c.Server.BindAddress, c.Rocketd.HTTPHost, c.Rocketd.DataDir)
	}
	if c = configured(t, "Dockerfile", append(env, "ROCKETD_ADVERTISE=mq"), nil); c.BrokerAddr(10911) != "mq:10911" {
		t.Errorf("ROCKETD_ADVERTISE=mq: tells %s", c.BrokerAddr(10911))
	}
	for _, args := range [][]string{{"--advertise", "localhost"}, {"--advertise", "mq.example.com"}} {
		accepted(t, "Dockerfile", args)
	}
}

func TestSystemdUnit(t *testing.T) {
	start := ""
	for line := range strings.Lines(read(t, "deploy/rocketd.service")) {
		if v, ok := strings.CutPrefix(line, "ExecStart="); ok {
			start = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "RestartPreventExitStatus="); ok && strings.TrimSpace(v) != fmt.Sprint(ExitUsage, " ", ExitAddress) {
			t.Errorf("exit codes that no restart helps: %s", v)
		}
	}
	args := strings.Fields(start)
	if len(args) == 0 || args[0] != "/usr/local/bin/rocketd" {
		t.Fatalf("ExecStart %q", start)
	}
	accepted(t, "ExecStart", args[1:])
	configured(t, "rocketd.yaml", nil, []string{"../deploy/rocketd.yaml"})
}

func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Ports       []string
			Volumes     []string
		}
		Volumes map[string]yaml.Node
	}
	d := yaml.NewDecoder(strings.NewReader(read(t, "deploy/compose.yaml")))
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	s, ok := file.Services["mq"]
	if !ok {
		t.Fatal("no service mq")
	}
	env := []string{"container=rocketd"}
	for name, value := range s.Environment {
		env = append(env, name+"="+value)
	}
	c := configured(t, "compose.yaml", env, nil)
	if c.BrokerAddr(10911) != "mq:10911" || len(c.Rocketd.Topics) == 0 {
		t.Errorf("clients are told %s, topics %v", c.BrokerAddr(10911), c.Rocketd.Topics)
	}
	for _, p := range s.Ports {
		parts := strings.Split(p, ":")
		if !slices.Contains(ports(c), parts[len(parts)-1]) || parts[len(parts)-1] != parts[len(parts)-2] {
			t.Errorf("port %s: listens on %v", p, ports(c))
		}
	}
	for _, v := range s.Volumes {
		name, at, _ := strings.Cut(v, ":")
		if _, known := file.Volumes[name]; !known || at != c.Rocketd.DataDir {
			t.Errorf("volume %s, files in %s", v, c.Rocketd.DataDir)
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type mount struct {
	Name      string
	MountPath string `yaml:"mountPath"`
}

// kubernetes holds the members of the manifests that are looked at.
type kubernetes struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Ports    []struct{ Port int }
		Template struct {
			Spec struct {
				Containers []struct {
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					ReadinessProbe probe   `yaml:"readinessProbe"`
					LivenessProbe  probe   `yaml:"livenessProbe"`
					VolumeMounts   []mount `yaml:"volumeMounts"`
				}
			}
		}
	}
}

func TestKubernetesManifests(t *testing.T) {
	byKind := map[string]kubernetes{}
	for d := yaml.NewDecoder(bytes.NewReader([]byte(read(t, "deploy/kubernetes.yaml")))); ; {
		var k kubernetes
		if err := d.Decode(&k); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		byKind[k.Kind] = k
	}
	file := filepath.Join(t.TempDir(), "rocketd.yaml")
	if err := os.WriteFile(file, []byte(byKind["ConfigMap"].Data["rocketd.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	// The variables that a service named rocketd brings into its pods.
	env := []string{
		"container=rocketd", "KUBERNETES_SERVICE_HOST=10.0.0.1", "ROCKETD_SERVICE_HOST=10.0.0.9", "ROCKETD_SERVICE_PORT=9876", "ROCKETD_SERVICE_PORT_HTTP=10988",
		"ROCKETD_PORT=tcp://10.0.0.9:9876", "ROCKETD_PORT_9876_TCP_ADDR=10.0.0.9",
	}
	c := configured(t, "kubernetes.yaml", env, []string{file})
	if want := byKind["Service"].Metadata.Name + ":10911"; c.BrokerAddr(10911) != want || c.Rocketd.HTTPHost != "0.0.0.0" {
		t.Errorf("clients are told %s, want %s; console on %s", c.BrokerAddr(10911), want, c.Rocketd.HTTPHost)
	}
	for _, p := range byKind["Service"].Spec.Ports {
		if !slices.Contains(ports(c), fmt.Sprint(p.Port)) {
			t.Errorf("service port %d: listens on %v", p.Port, ports(c))
		}
	}
	pod := byKind["StatefulSet"].Spec.Template.Spec.Containers[0]
	accepted(t, "kubernetes.yaml", pod.Args)
	if pod.ReadinessProbe.HTTPGet.Path != "/readyz" || pod.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("probes %+v %+v", pod.ReadinessProbe, pod.LivenessProbe)
	}
	for _, p := range pod.Ports {
		if !slices.Contains(ports(c), fmt.Sprint(p.ContainerPort)) {
			t.Errorf("container port %d: listens on %v", p.ContainerPort, ports(c))
		}
	}
	if !slices.ContainsFunc(pod.VolumeMounts, func(m mount) bool { return m.MountPath == c.Rocketd.DataDir }) {
		t.Errorf("no volume at %s", c.Rocketd.DataDir)
	}
}
