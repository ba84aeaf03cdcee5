package remoting

import "github.com/sirupsen/logrus"

// gnetLogger brings gnet's own lines into the server's log. What gnet tells of starting and stopping is debug here;
// Fatalf does not end the process.
type gnetLogger struct{ log *logrus.Entry }

func (g gnetLogger) Debugf(format string, args ...any) { g.log.Debugf("gnet: "+format, args...) }
func (g gnetLogger) Infof(format string, args ...any)  { g.log.Debugf("gnet: "+format, args...) }
func (g gnetLogger) Warnf(format string, args ...any)  { g.log.Warnf("gnet: "+format, args...) }
func (g gnetLogger) Errorf(format string, args ...any) { g.log.Errorf("gnet: "+format, args...) }
func (g gnetLogger) Fatalf(format string, args ...any) { g.log.Errorf("gnet: "+format, args...) }
