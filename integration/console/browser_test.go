package console

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium finds the browser; without one the test is skipped, or fails with CI=true.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const sentence = "no Chromium is installed, so the console's page is not tested: apt-get install chromium"
	if os.Getenv("CI") != "" {
		t.Fatal(sentence)
	}
	t.Skip(sentence)
	return ""
}

// page is a tab that notes every error of the page.
type page struct {
	t      *testing.T
	ctx    context.Context
	base   string
	shots  string
	errors chan string
}

func open(t *testing.T, base string) *page {
	t.Helper()
	p := &page{t: t, base: base, errors: make(chan string, 100), shots: os.Getenv("ROCKETD_SCREENSHOTS")}
	if p.shots == "" {
		p.shots = t.TempDir()
	}
	if err := os.MkdirAll(p.shots, 0o755); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1360, 950), chromedp.WSURLReadTimeout(60*time.Second))
	alloc, cancelAlloc := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancelAlloc)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	p.ctx = ctx
	p.run(chromedp.Navigate("about:blank")) // starts the browser
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.note(fmt.Sprintf("%+v", *e.ExceptionDetails))
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				p.note(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *page) note(text string) {
	select {
	case p.errors <- text:
	default:
	}
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// ask runs an action that gives a value.
func ask[T any](p *page, a chromedp.Action[T]) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, a)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// view goes to a view and waits until it shows all of the texts.
func (p *page) view(hash string, want ...string) {
	p.t.Helper()
	p.run(chromedp.Navigate(p.base + "/#/" + hash))
	p.shows(want...)
}

// shows waits until the page shows all of the texts.
func (p *page) shows(want ...string) {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		text := ask(p, chromedp.Evaluate[string](`document.getElementById("main").innerText`))
		missing := ""
		for _, w := range want {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			p.shot("failed")
			p.t.Fatalf("the page does not show %q but:\n%s", missing, text)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (p *page) shot(name string) {
	p.t.Helper()
	image := ask(p, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(p.shots, name+".png"), image, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) colours(scheme string) {
	p.t.Helper()
	p.run(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	})
}

// quiet fails the test for errors that the page had.
func (p *page) quiet() {
	p.t.Helper()
	for {
		select {
		case text := <-p.errors:
			p.t.Errorf("the browser reports: %s", text)
		default:
			return
		}
	}
}

func TestPage(t *testing.T) {
	chromium(t)
	s := startSeeded(t)
	p := open(t, "http://"+s.HTTPAddr())
	p.colours("light")
	for _, v := range []struct {
		hash string
		want []string
	}{
		{"overview", []string{"tester", "messages/s in", "timers pending", "commit log", "lanes"}},
		{"topics", []string{"orders", "payments", "audit"}},
		{"topics?q=&kind=dead", []string{"%DLQ%billing"}},
		{"topic/orders", []string{"queues", "billing", "online"}},
		{"groups", []string{"billing", "online", "push, clustering"}},
		{"group/billing", []string{"orders", "members", "committed", "deliveries before dead"}},
		{"messages?topic=orders", []string{"order-59", "zürich", "50 messages, by newest"}},
		{"messages?topic=audit&queue=0&offset=0", []string{"offsets 0 to", "later"}},
		{"messages?topic=orders&at=2020-01-01T00:00:00&until=2090-01-01T00:00:00", []string{"50 messages, by time"}},
		{"messages?topic=orders&until=2020-01-01T00:00:00", []string{"0 messages, by time"}},
		{"messages?topic=orders&key=order-7", []string{"1 message, by key", `"order": 7`}},
		{"timers", []string{"timers pending", "payments", "by delay level", "next timers", "later"}},
		{"timers?bucket=hour&topic=payments", []string{"timers pending"}},
		{"transactions", []string{"payments", "shop-tx", "tx"}},
		{"dead-letters?group=billing", []string{"order-3", "resend the chosen ones"}},
		{"clients", []string{"shop", "billing", "go", "producer", "consumer", "client id twin is used by 2 connections"}},
		{"config?changed=true", []string{"httpPort: 0", "orders"}},
		{"warnings", []string{"a warning for the page", "group=billing"}},
		{"send?topic=orders", []string{"send a test message", "body"}},
	} {
		p.view(v.hash, v.want...)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.colours(scheme)
		for _, name := range []string{
			"overview", "topics", "topic/orders", "group/billing", "messages?topic=orders", "timers", "dead-letters?group=billing", "clients", "send?topic=orders",
			"groups", "dead-letters", "transactions", "config?changed=true", "warnings",
		} {
			p.view(name)
			p.run(chromedp.Sleep(1500 * time.Millisecond))
			p.shot(scheme + "-" + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(name))
		}
	}
	p.quiet()
}

// A message goes out by the form, is found, shown with its properties, and as hex.
func TestSendAndShow(t *testing.T) {
	chromium(t)
	s := startSeeded(t)
	p := open(t, "http://"+s.HTTPAddr())
	p.view("send?topic=orders", "send a test message")
	p.run(chromedp.SendKeys(`input[name=keys]`, "from-the-page"), chromedp.SendKeys(`input[name=tags]`, "tea"),
		chromedp.SendKeys(`textarea[name=properties]`, "colour=<b>red</b>"), chromedp.Click(`form button.primary`))
	p.shows("sent:")
	p.run(chromedp.Click(`.done a`))
	p.shows("from-the-page", "colour", "<b>red</b>", `"hello": "world"`)
	p.run(chromedp.Click(`.tabs button:nth-child(2)`))
	p.shows(`{"hello": "world"}`)
	p.run(chromedp.Click(`.tabs button:nth-child(3)`))
	p.shows("7b 22 68 65")
	p.shot("message")
	p.view("send?topic=orders", "send a test message")
	p.run(chromedp.SetValue(`select[name=when]`, "ms"), chromedp.Evaluate[chromedp.Void](`document.querySelector("select[name=when]").dispatchEvent(new Event("change"))`),
		chromedp.SetValue(`input[name=seconds]`, "3600"), chromedp.Click(`form button.primary`))
	p.shows("recall handle")
	p.quiet()
}

// Dead letters are chosen and sent again by the keyboard alone, and the theme is switched.
func TestKeyboard(t *testing.T) {
	chromium(t)
	s := startSeeded(t)
	p := open(t, "http://"+s.HTTPAddr())
	p.view("dead-letters?group=billing", "order-3")
	p.run(chromedp.Focus(`tbody input[type=checkbox]`), chromedp.KeyEvent(" "), chromedp.Focus(`form button.primary`), chromedp.KeyEvent(kb.Enter))
	p.shows("1 sent to the group again")
	p.view("topics", "orders")
	// The browser's protocol sends the character of a key whatever its keydown said, so this is the keydown alone.
	p.run(chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`),
		chromedp.KeyEvent("pay"), chromedp.KeyEvent(kb.Enter))
	p.run(chromedp.WaitNotPresent(`a[href="#/topic/orders"]`))
	p.shows("payments")
	p.run(chromedp.Focus("#theme"), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter))
	if theme := ask(p, chromedp.Evaluate[string](`document.documentElement.dataset.theme`)); theme != "dark" {
		t.Errorf("theme %q after two presses, want dark", theme)
	}
	p.quiet()
}
