/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.openmetadata.ffdc;

/** Somebody may not do what they asked for (Egeria 6.0). */
public class UserNotAuthorizedException extends Exception {
    private static final long serialVersionUID = 1L;

    public UserNotAuthorizedException(String message) {
        super(message);
    }
}
