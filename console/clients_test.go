package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/console"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// member connects as a member of a group until the test ends.
func member(t *testing.T, addr, id, group, topic, tags string) {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req := remoting.NewRequest(remoting.HeartBeat, &remoting.HeartbeatRequestHeader{})
	req.Body = body.Encode(&body.HeartbeatData{ClientID: id, ConsumerDataSet: []body.ConsumerData{{
		GroupName: group, ConsumeType: body.ConsumePassively, MessageModel: body.Clustering, ConsumeFromWhere: "CONSUME_FROM_LAST_OFFSET",
		SubscriptionDataSet: []body.SubscriptionData{{Topic: topic, SubString: tags, ExpressionType: "TAG"}},
	}}})
	resp, err := client.Invoke(ctx, addr, req)
	if err != nil || resp.Code != remoting.Success {
		t.Fatalf("heartbeat of %s: %+v, %v", id, resp, err)
	}
}

// Connections with one client id, and members that subscribe differently, are warned of: at the group, in the list of groups and of clients.
func TestWarningsOfClients(t *testing.T) {
	x := open(t, conf.RoleAll)
	addr := x.s.BrokerAddr()
	member(t, addr, "twin", "billing", "orders", "*")
	member(t, addr, "twin", "billing", "orders", "*")
	member(t, addr, "other", "billing", "orders", "tea")
	member(t, addr, "fine", "audit-readers", "audit", "*")
	wants := func(where string, problems []string) {
		t.Helper()
		all := strings.Join(problems, "\n")
		for _, want := range []string{"client id twin is used by 2 connections, 127.0.0.1:", "members subscribe differently: ", "orders tea"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is not in %q", where, want, all)
			}
		}
	}
	wants("group", get[console.GroupAnswer](x, "groups/billing").Problems)
	wants("groups", get[console.GroupsAnswer](x, "groups?q=billing").Groups[0].Problems)
	clients := get[console.ClientsAnswer](x, "clients")
	if clients.Total != 4 || clients.Clients[3].ID != "fine" || len(clients.Clients[3].Problems) != 0 {
		t.Errorf("clients: %+v", clients)
	}
	for _, c := range clients.Clients[:3] {
		wants("client "+c.ID, c.Problems)
	}
}
