package rocketd.junit;

/** What the control API refused, or a wait that has ended in vain; the message then tells what was seen instead. */
public final class RocketdException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    RocketdException(int status, String message, Throwable cause) {
        super(message, cause);
        this.status = status;
    }

    /** The HTTP status, 0 when there was no answer. 409 is a wait in vain, or what can not be done now. */
    public int status() {
        return status;
    }
}
