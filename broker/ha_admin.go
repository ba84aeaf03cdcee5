package broker

import (
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) haAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.GetBrokerHAStatus, Lane: laneAdmin, Handle: b.getHAStatus},
		{Code: remoting.ExchangeBrokerHAInfo, Lane: laneAdmin, Handle: b.exchangeHAInfo},
		{Code: remoting.ResetMasterFlushOffset, Lane: laneAdmin, Handle: b.resetMasterFlushOffset},
	}
}

// getHAStatus answers the state of replication: a master without slaves (AdminBrokerProcessor#getBrokerHaStatus).
func (b *Broker) getHAStatus(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	reply := body.HAStatus{Master: !b.isSlave()}
	if reply.Master {
		reply.MasterCommitLogMaxOffset = b.store.MaxPhysicalOffset()
	}
	return bodyResponse(&reply), nil
}

// exchangeHAInfo tells a slave where its master is; what a slave is told is not used
// (AdminBrokerProcessor#updateBrokerHaInfo).
func (b *Broker) exchangeHAInfo(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ExchangeHAInfoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	resp := success()
	if h.MasterHAAddress == "" && b.identity.id == 0 {
		resp.Header = &remoting.ExchangeHAInfoResponseHeader{
			MasterHAAddress: b.identity.haAddress, MasterAddress: b.identity.address,
			MasterFlushOffset: remoting.Some(b.store.FlushedOffset()),
		}
	}
	return resp, nil
}

// resetMasterFlushOffset is for slaves; a master takes it and does nothing (AdminBrokerProcessor#resetMasterFlushOffset).
func (b *Broker) resetMasterFlushOffset(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ResetMasterFlushOffsetHeader
	if b.identity.id != 0 {
		if err := req.Decode(&h); err != nil {
			return nil, err
		}
	}
	return success(), nil
}
