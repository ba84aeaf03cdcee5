package remoting

import "testing"

func TestNamesOfCodes(t *testing.T) {
	for name, code := range map[string]int32{"SEND_MESSAGE_V2": 310, "PULL_MESSAGE": 11, "heart_beat": 34, "4711": 4711} {
		if got, ok := RequestCode(name); !ok || got != code {
			t.Errorf("request %s: got %d, %t, want %d", name, got, ok, code)
		}
	}
	for name, code := range map[string]int32{"SYSTEM_BUSY": 2, "topic_not_exist": 17, "-7": -7} {
		if got, ok := ResponseCode(name); !ok || got != code {
			t.Errorf("response %s: got %d, %t, want %d", name, got, ok, code)
		}
	}
	if _, ok := RequestCode("SEND"); ok {
		t.Error("a name that is none was found")
	}
	if got := RequestName(310) + " " + ResponseName(2) + " " + RequestName(4711); got != "SEND_MESSAGE_V2 SYSTEM_BUSY 4711" {
		t.Errorf("names: %s", got)
	}
}
